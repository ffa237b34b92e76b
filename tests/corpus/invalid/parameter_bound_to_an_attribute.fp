!!ARBfp1.0
# expect 3:11 program.local
PARAM p = fragment.color;
END
