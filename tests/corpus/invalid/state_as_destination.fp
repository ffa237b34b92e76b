!!ARBfp1.0
# expect 3:5 state cannot be written
MOV state.fog.color, 1;
END
