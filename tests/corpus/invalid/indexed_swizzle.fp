!!ARBfp1.0
# expect 4:12 
TEMP R0, R1;
MOV R0, R1.x[0];
END
