!!ARBfp1.0
# expect 4:21 there are 32
TEMP R0;
TEX R0, R0, texture[32], 2D;
END
