!!ARBfp1.0
# expect 4:1 OPTION
TEMP R0, R1;
OPTION ARB_precision_hint_fastest;
END
