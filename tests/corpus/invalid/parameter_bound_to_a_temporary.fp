!!ARBfp1.0
# expect 4:11 program.local
TEMP R0, R1;
PARAM p = R0;
END
