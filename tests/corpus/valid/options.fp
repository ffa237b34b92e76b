!!ARBfp1.0
#= OPTION ARB_draw_buffers;
#= OPTION ARB_fog_exp2;
#= OPTION ARB_precision_hint_fastest;
#= MOV result.color, {1, 1, 1, 1};
#= MOV result.color[3].x, {2, 0, 0, 1};
#= MOV result.depth.z, {0.5, 0.5, 0.5, 0.5};
OPTION ARB_draw_buffers;
OPTION ARB_fog_exp2;
OPTION ARB_precision_hint_fastest;
OPTION ARB_fog_exp2;  # once is enough
OUTPUT third = result.color[3];
MOV result.color[0], 1;
MOV third.r, {2};
MOV result.depth.b, .5;
END
