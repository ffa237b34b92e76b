!!ARBfp1.0
# expect 4:9 as in {2}.x
TEMP R0;
RCP R0, 2;
END
