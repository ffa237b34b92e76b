!!ARBfp1.0
# expect 4:12 unexpected '.5'
TEMP R0, R1;
MOV R0, 1.2.5;
END
