!!ARBfp1.0
# expect 4:5 R0 is not an array
TEMP R0, R1;
MOV R0[0], R1;
END
