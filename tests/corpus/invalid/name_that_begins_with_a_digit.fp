!!ARBfp1.0
# expect 3:6 unexpected '1'
TEMP 1st;
END
