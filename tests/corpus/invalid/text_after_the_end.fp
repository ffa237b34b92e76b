!!ARBfp1.0
# expect 5:1 unexpected 'MOV'
TEMP R0, R1;
END
MOV R0, R1;
END
