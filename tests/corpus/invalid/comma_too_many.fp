!!ARBfp1.0
# expect 4:11 unexpected ','
TEMP R0, R1;
MOV R0, R1,;
END
