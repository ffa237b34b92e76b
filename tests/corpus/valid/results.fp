!!ARBfp1.0
#= TEMP R0;
#= MOV result.color, R0;
#= MOV result.color.w, R0;
#= MOV result.depth.z, R0;
#= MOV result.color.xy, R0;
#= MOV result.depth, R0;
OUTPUT shown = result.color;
OUTPUT deep = result.depth;
TEMP R0;
MOV result.color, R0;
MOV result.color.a, R0;
MOV result.depth.z, R0;
MOV shown.xy, R0;
MOV deep, R0;
END
