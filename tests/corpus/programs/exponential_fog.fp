!!ARBfp1.0
# EXP2 fog by hand, as programs did it that wanted it before the last blend.
TEMP fog, texel;
PARAM p = state.fog.params;
PARAM c = { 1.442695 };
MUL fog.x, p.x, fragment.fogcoord.x;
MUL fog.x, fog.x, fog.x;
MUL fog.x, fog.x, c.x;
EX2_SAT fog.x, -fog.x;
TXP texel, fragment.texcoord, texture, 2D;
MUL texel, texel, fragment.color;
LRP result.color.rgb, fog.x, texel, state.fog.color;
MOV result.color.a, texel.a;
END
