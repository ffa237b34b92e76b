!!ARBfp1.0
# expect 4:11 gone is not declared
TEMP R0, R1;
ALIAS b = gone;
END
