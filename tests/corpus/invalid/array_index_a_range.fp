!!ARBfp1.0
# expect 5:9 one element
TEMP R0, R1;
PARAM p[] = { 1, 2 };
MOV R0, p[0..1];
END
