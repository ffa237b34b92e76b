!!ARBfp1.0
# expect 4:12 x, y, z, w
TEMP R0, R1;
MOV R0, R1.stpq;
END
