!!ARBfp1.0
# expect 4:17 program.env[n]
TEMP R0, R1;
MOV R0, program.global[0];
END
