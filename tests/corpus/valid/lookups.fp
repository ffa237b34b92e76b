!!ARBfp1.0
#= TEMP R0;
#= TEX R0, R0, texture[0], RECT;
#= TEX R0, R0, texture[0], RECT;
#= TEX R0.xy, -R0.yxzw, texture[3], 2D;
#= TEX_SAT R0, fragment.texcoord[0], texture[1], 1D;
#= TEX R0, program.local[0], texture[2], 3D;
#= TEX R0, {0.5, 1.5, 0, 1}, texture[4], CUBE;
TEMP R0;
TEX R0, R0, texture[0], RECT;
TEX R0, R0, texture, RECT;
TEX R0.xy, -R0.yxzw, texture[3], 2D;
TEX_SAT R0, fragment.texcoord[0], texture[1], 1D;
TEX R0, program.local[0], texture[2], 3D;
TEX R0, {.5, 1.5}, texture[4], CUBE;
END
