!!ARBfp1.0
# expect 3:46 has no inverse
MOV result.color, state.matrix.mvp.transpose.inverse.row[0];
END
