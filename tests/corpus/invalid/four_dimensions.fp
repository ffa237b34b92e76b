!!ARBfp1.0
# expect 4:26 unexpected 'D'
TEMP R0, R1;
TEX R0, R1, texture[0], 4D;
END
