!!ARBfp1.0
# expect 4:10 
TEMP R0, R1;
MOV R0.x.y, R1;
END
