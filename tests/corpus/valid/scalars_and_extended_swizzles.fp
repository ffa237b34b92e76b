!!ARBfp1.0
#= TEMP R0;
#= RCP R0.x, R0.w;
#= RSQ_SAT R0, -R0.y;
#= POW R0, {2, 2, 2, 2}.x, {1, 2, 0, 1}.y;
#= SCS R0.xy, fragment.texcoord[0].x;
#= SWZ R0, fragment.color, x, -y, 0, -1;
#= SWZ_SAT R0.w, {3, 3, 3, 3}, w, 1, 0, -x;
#= KIL -R0.x;
#= TXB R0, R0, texture[15], 3D;
#= LIT R0, R0;
TEMP R0;
RCP R0.x, R0.a;
RSQ_SAT R0, -R0.g;
POW R0, 2 .x, {1, 2}.y;
SCS R0.xy, fragment.texcoord.x;
SWZ R0, fragment.color, r, -g, +0, -1;
SWZ_SAT R0.a, 3, w, 1, 0, -x;
KIL -R0.x;
TXB R0, R0, texture[15], 3D;
LIT R0, R0;
END
