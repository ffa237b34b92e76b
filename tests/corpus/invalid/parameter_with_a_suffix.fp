!!ARBfp1.0
# expect 3:28 no suffix
PARAM p = program.local[0].x;
END
