!!ARBfp1.0
# expect 4:12 results are
TEMP R0, R1;
MOV result.fog, R0;
END
