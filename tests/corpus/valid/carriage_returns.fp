!!ARBfp1.0
#= TEMP R0;
#= MOV R0, R0.x;
TEMP R0;
MOV R0, # over the line's end
R0.x;
END
