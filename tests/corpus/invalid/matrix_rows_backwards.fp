!!ARBfp1.0
# expect 3:36 backwards
PARAM m[] = { state.matrix.mvp.row[3..1] };
END
