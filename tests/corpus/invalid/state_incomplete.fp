!!ARBfp1.0
# expect 3:25 names no value yet
MOV result.color, state.fog;
END
