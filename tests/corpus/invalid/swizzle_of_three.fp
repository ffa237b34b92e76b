!!ARBfp1.0
# expect 4:12 1 or 4 letters
TEMP R0, R1;
MOV R0, R1.xyz;
END
