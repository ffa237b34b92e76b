!!ARBfp1.0
# expect 4:17 program.local[n]
TEMP R0, R1;
MOV R0, program.local;
END
