!!ARBfp1.0
# expect 3:9 3 elements
PARAM p[3] = { 1, 2 };
END
