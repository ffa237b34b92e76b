!!ARBfp1.0
# expect 4:9 R1 is not an array
TEMP R0, R1;
MOV R0, R1[0];
END
