!!ARBfp1.0
# expect 4:9 
TEMP R0, R1;
MOV R0, program[0].local[0];
END
