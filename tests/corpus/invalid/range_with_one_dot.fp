!!ARBfp1.0
# expect 3:29 unexpected '3.5'
PARAM p[] = { program.local[3.5] };
END
