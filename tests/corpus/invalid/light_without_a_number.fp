!!ARBfp1.0
# expect 3:25 light needs an index
MOV result.color, state.light.diffuse;
END
