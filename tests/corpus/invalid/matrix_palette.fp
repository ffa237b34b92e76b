!!ARBfp1.0
# expect 3:40 palette[0]
MOV result.color, state.matrix.palette[0].row[0];
END
