!!ARBfp1.0
# expect 4:9 late is not declared
TEMP R0, R1;
MOV R0, late;
TEMP late;
END
