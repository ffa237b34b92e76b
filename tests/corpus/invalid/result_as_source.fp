!!ARBfp1.0
# expect 4:9 only be written
TEMP R0, R1;
MOV R0, result.color;
END
