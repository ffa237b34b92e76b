!!ARBfp1.0
# expect 4:10 R1 is declared twice
TEMP R0, R1;
TEMP R2, R1;
END
