!!ARBfp1.0
# expect 4:1 MOVE is not an opcode
TEMP R0, R1;
MOVE R0, R1;
END
