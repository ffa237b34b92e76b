!!ARBfp1.0
# expect 3:13 expected '{'
PARAM p[] = 1.0;
END
