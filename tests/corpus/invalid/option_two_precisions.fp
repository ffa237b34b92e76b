!!ARBfp1.0
# expect 4:8 conflicts with
OPTION ARB_precision_hint_nicest;
OPTION ARB_precision_hint_fastest;
END
