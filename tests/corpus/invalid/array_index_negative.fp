!!ARBfp1.0
# expect 5:11 expected an integer
TEMP R0, R1;
PARAM p[] = { 1, 2 };
MOV R0, p[-1];
END
