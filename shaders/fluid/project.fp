!!ARBfp1.0
# The velocity less the slope of the pressure, so that as much flows out of a texel as into it.
# Texture 0 holds the velocity, texture 1 the pressure; sets 1 to 4 are the neighbours.

PARAM half = { 0.5, 0.5, 0.0, 0.0 };
TEMP velocity, slope, west, east, south, north;

TEX velocity, fragment.position, texture[0], RECT;
TEX west, fragment.texcoord[1], texture[1], RECT;
TEX east, fragment.texcoord[2], texture[1], RECT;
TEX south, fragment.texcoord[3], texture[1], RECT;
TEX north, fragment.texcoord[4], texture[1], RECT;

MOV slope, half.zzzz;
SUB slope.x, east.x, west.x;
SUB slope.y, north.x, south.x;
MAD result.color, slope, -half, velocity;
END
