!!ARBfp1.0
# expect 4:9 r1 is not declared
TEMP R0, R1;
MOV R0, r1;
END
