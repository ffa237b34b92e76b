!!ARBfp1.0
# expect 4:17 
TEMP R0, R1;
MOV R0, R1.xyzw.x;
END
