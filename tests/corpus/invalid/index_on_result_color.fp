!!ARBfp1.0
# expect 4:12 color is not an array
TEMP R0, R1;
MOV result.color[0], R0;
END
