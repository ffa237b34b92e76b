!!ARBfp1.0
# expect 3:19 4 vectors
MOV result.color, state.matrix.mvp;
END
