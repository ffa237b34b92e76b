!!ARBfp1.0
# expect 4:7 KIL takes 1 operand
TEMP R0;
KIL R0, R0;
END
