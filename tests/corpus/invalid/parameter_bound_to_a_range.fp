!!ARBfp1.0
# expect 3:11 array
PARAM p = program.local[0..3];
END
