!!ARBfp1.0
# expect 4:7 R0 is declared twice
TEMP R0, R1;
ALIAS R0 = R1;
END
