!!ARBfp1.0
# expect 4:12 me is not declared
TEMP R0, R1;
ALIAS me = me;
END
