!!ARBfp1.0
# expect 3:32 expected an integer
PARAM p[] = { program.local[3..] };
END
