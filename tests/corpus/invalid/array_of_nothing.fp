!!ARBfp1.0
# expect 3:15 unexpected '}'
PARAM p[] = { };
END
