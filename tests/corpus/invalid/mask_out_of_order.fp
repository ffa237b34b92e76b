!!ARBfp1.0
# expect 4:8 in the order
TEMP R0, R1;
MOV R0.yx, R1;
END
