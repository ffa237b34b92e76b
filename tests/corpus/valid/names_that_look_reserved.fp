!!ARBfp1.0
#= TEMP CUBE, RECT, state0, row, env, xyzw, KIL_SAT, Mov;
#= MOV CUBE.x, RECT.w;
#= MOV row, env.y;
#= MOV xyzw.xy, xyzw;
#= TEX Mov, KIL_SAT, texture[1], CUBE;
#= TEX RECT, state0, texture[2], RECT;
TEMP CUBE, RECT, state0, row, env, xyzw, KIL_SAT, Mov;
MOV CUBE.x, RECT .
w;
MOV row, env
. y;
MOV xyzw.xy, xyzw.xyzw;
TEX Mov, KIL_SAT, texture[1], CUBE;
TEX RECT, state0, texture[2], RECT;
END
