!!ARBfp1.0
#= TEMP $, _, x, rgba, CUBE, RECT, KIL_SAT, R0_1$, ENDING, TEMPS, mov, D2, e1;
#= MOV $, _;
#= MOV x.x, rgba;
#= ADD CUBE, RECT, KIL_SAT;
#= MOV R0_1$, ENDING;
#= MOV TEMPS, mov;
#= TEX CUBE, RECT, texture[0], RECT;
#= TEX RECT, CUBE, texture[1], CUBE;
#= MOV D2, e1;
TEMP $, _, x, rgba, CUBE, RECT, KIL_SAT, R0_1$, ENDING, TEMPS, mov, D2, e1;
MOV $, _;
MOV x.x, rgba.rgba;
ADD CUBE, RECT, KIL_SAT;
MOV R0_1$, ENDING;
MOV TEMPS, mov;
TEX CUBE, RECT, texture[0], RECT;
TEX RECT, CUBE, texture[1], CUBE;
MOV D2, e1;
END
