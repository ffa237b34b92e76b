!!ARBfp1.0
# expect 4:9 range
TEMP R0, R1;
MOV R0, program.env[0..1];
END
