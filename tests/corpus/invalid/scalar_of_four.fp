!!ARBfp1.0
# expect 4:12 1 letter
TEMP R0;
RCP R0, R0.xyzw;
END
