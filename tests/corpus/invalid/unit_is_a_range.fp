!!ARBfp1.0
# expect 4:13 texture image unit
TEMP R0, R1;
TEX R0, R1, texture[0..1], RECT;
END
