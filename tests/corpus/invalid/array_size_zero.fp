!!ARBfp1.0
# expect 3:9 cannot have 0 elements
PARAM p[0] = { 1 };
END
