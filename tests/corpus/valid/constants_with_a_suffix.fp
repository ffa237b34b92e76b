!!ARBfp1.0
#= TEMP R0;
#= MOV R0, {1, 2, 3, 4}.wzyx;
#= MOV R0, -{5, 0, 0, 1}.x;
#= MOV R0, {0.5, 0.5, 0.5, 0.5}.y;
TEMP R0;
MOV R0, {1, 2, 3, 4}.wzyx;
MOV R0, -{5}.r;
MOV R0, 0.5.y;
END
