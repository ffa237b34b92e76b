!!ARBfp1.0
# expect 3:34 did you mean .specular?
MOV result.color, state.material.speclar;
END
