!!ARBfp1.0
# expect 4:1 mov is not an opcode
TEMP R0, R1;
mov R0, R1;
END
