!!ARBfp1.0
# expect 3:40 row[4]
MOV result.color, state.matrix.mvp.row[4];
END
