!!ARBfp1.0
# expect 5:1 expected
TEMP R0, R1;
MOV R0, R1
MOV R1, R0;
END
