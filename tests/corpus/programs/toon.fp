!!ARBfp1.0
# Cel shading: the diffuse term looks a 1D ramp up, silhouettes are drawn black.
PARAM ink = { 0.0, 0.0, 0.0, 1.0 };
PARAM edge = 0.25;
TEMP n, v, shade, rim;
TEX n, fragment.texcoord[0], texture[1], CUBE;
MAD n.xyz, n, 2.0, -1.0;
TEX v, fragment.texcoord[1], texture[1], CUBE;
MAD v.xyz, v, 2.0, -1.0;
DP3_SAT shade.x, n, state.light[0].position;
TEX shade, shade.x, texture[0], 1D;
MUL shade, shade, fragment.color.primary;
DP3 rim, n, v;
SUB rim, rim, edge;
CMP result.color, rim, ink, shade;
END
