!!ARBfp1.0
# expect 3:31 light[8] is out of range
MOV result.color, state.light[8].diffuse;
END
