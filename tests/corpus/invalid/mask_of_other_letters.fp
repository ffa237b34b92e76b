!!ARBfp1.0
# expect 4:8 x, y, z, w
TEMP R0, R1;
MOV R0.s, R1;
END
