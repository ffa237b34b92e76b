!!ARBfp1.0
# expect 3:11 declare it as an array
PARAM m = state.matrix.mvp;
END
