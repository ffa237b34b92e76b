!!ARBfp1.0
# expect 3:7 3 elements
PARAM p[3] = { 1, 2 };
END
