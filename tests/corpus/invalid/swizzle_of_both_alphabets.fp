!!ARBfp1.0
# expect 4:12 not both
TEMP R0, R1;
MOV R0, R1.xgbw;
END
