!!ARBfp1.0
# expect 3:29 backwards
PARAM p[] = { program.local[3..1] };
END
