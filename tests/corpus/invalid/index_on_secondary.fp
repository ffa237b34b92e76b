!!ARBfp1.0
# expect 4:24 
TEMP R0, R1;
MOV R0, fragment.color.secondary[0];
END
