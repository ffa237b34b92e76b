!!ARBfp1.0
# expect 4:1 MOV_sat is not an opcode
TEMP R0, R1;
MOV_sat R0, R1;
END
