!!ARBfp1.0
# expect 4:9 expected a register
TEMP R0, R1;
MOV R0, 2D;
END
