!!ARBfp1.0
# Volume rendering of 2004: a dependent lookup in a transfer function, classified and shaded.
TEMP density, colour, g;
TEX density, fragment.texcoord[0], texture[0], 3D;
TEX colour, density.xxxx, texture[1], 1D;
MAD g, density.yzwy, 2.0, -1.0;
DP3 g.w, g, state.light[1].spot.direction;
ABS g.w, g.w;
MAX g.w, g.w, 0.3;
MUL colour.rgb, colour, g.w;
SGE g.x, colour.a, { .02 }.x;
SUB g.y, g.x, 0.5;
KIL g.y;
MUL_SAT result.color, colour, program.local[0];
END
