!!ARBfp1.0
# expect 3:24 1 to 4 components
PARAM p = {1, 2, 3, 4, 5};
END
