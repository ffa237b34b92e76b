!!ARBfp1.0
# expect 4:10 unexpected 'e'
TEMP R0, R1;
MOV R0, 1e;
END
