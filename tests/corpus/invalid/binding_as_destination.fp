!!ARBfp1.0
# expect 4:5 
TEMP R0, R1;
MOV fragment.color, R0;
END
