!!ARBfp1.0
# expect 5:9 p is not an array
TEMP R0, R1;
PARAM p = 1;
MOV R0, p[0];
END
