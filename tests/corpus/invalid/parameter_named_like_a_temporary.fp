!!ARBfp1.0
# expect 4:7 R0 is declared twice
TEMP R0, R1;
PARAM R0 = 1.0;
END
