!!ARBfp1.0
# expect 4:11 MOV takes 2 operands
TEMP R0, R1;
MOV R0, R1, R1;
END
