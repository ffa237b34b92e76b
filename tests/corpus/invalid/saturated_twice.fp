!!ARBfp1.0
# expect 4:1 MOV_SAT_SAT is not an opcode
TEMP R0, R1;
MOV_SAT_SAT R0, R1;
END
