!!ARBfp1.0
# expect 5:5 p cannot be written
TEMP R0, R1;
PARAM p = 1.0;
MOV p, R0;
END
