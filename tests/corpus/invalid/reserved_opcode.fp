!!ARBfp1.0
# expect 3:6 DP3 is a reserved word
TEMP DP3;
END
