!!ARBfp1.0
# expect 4:5 a destination is
TEMP R0, R1;
MOV -R0, R1;
END
