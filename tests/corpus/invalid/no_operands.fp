!!ARBfp1.0
# expect 4:4 unexpected ';'
TEMP R0, R1;
MOV;
END
