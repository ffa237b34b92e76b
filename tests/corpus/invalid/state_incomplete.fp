!!ARBfp1.0
# expect 3:25 is incomplete
MOV result.color, state.fog;
END
