!!ARBfp1.0
# expect 3:12 unexpected '}'
PARAM p = {};
END
