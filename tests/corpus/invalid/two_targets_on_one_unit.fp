!!ARBfp1.0
# expect 5:25 texture[0] is used as 2D
TEMP R0, R1;
TEX R0, R1, texture[0], RECT;
TEX R0, R1, texture[0], 2D;
END
