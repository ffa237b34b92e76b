!!ARBfp1.0
# expect 4:1 no result to saturate
TEMP R0;
KIL_SAT R0;
END
