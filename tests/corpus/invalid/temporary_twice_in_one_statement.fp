!!ARBfp1.0
# expect 3:10 R0 is declared twice
TEMP R0, R0;
END
