!!ARBfp1.0
# expect 5:11 p[2] does not exist
TEMP R0, R1;
PARAM p[] = { 1, 2 };
MOV R0, p[2];
END
