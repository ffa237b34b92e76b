!!ARBfp1.0
# expect 4:5 
TEMP R0, R1;
MOV result[0].color, R0;
END
