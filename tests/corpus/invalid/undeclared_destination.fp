!!ARBfp1.0
# expect 4:5 R2 is not declared
TEMP R0, R1;
MOV R2, R0;
END
