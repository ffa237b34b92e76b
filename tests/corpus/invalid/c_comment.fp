!!ARBfp1.0
# expect 4:1 '/'
TEMP R0, R1;
// no comment here
END
