!!ARBfp1.0
# expect 3:12 unexpected '{'
PARAM p = {{1}};
END
