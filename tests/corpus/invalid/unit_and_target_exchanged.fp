!!ARBfp1.0
# expect 4:13 texture image unit
TEMP R0, R1;
TEX R0, R1, RECT, texture[0];
END
