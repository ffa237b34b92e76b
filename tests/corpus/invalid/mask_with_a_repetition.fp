!!ARBfp1.0
# expect 4:8 once
TEMP R0, R1;
MOV R0.xx, R1;
END
