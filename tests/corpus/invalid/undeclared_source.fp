!!ARBfp1.0
# expect 4:9 R2 is not declared
TEMP R0, R1;
MOV R0, R2;
END
