!!ARBfp1.0
# expect 4:1 did you mean MUL?
TEMP R0;
MULL R0, R0, R0;
END
