!!ARBfp1.0
# How much more flows in than out: half of what the neighbours' velocities bring. It is the right side
# of the equation for the pressure. Sets 1 to 4 are the neighbours.

PARAM half = 0.5;
TEMP west, east, south, north;

TEX west, fragment.texcoord[1], texture[0], RECT;
TEX east, fragment.texcoord[2], texture[0], RECT;
TEX south, fragment.texcoord[3], texture[0], RECT;
TEX north, fragment.texcoord[4], texture[0], RECT;

SUB west.x, west.x, east.x;
SUB south.x, south.y, north.y;
ADD west.x, west.x, south.x;
MUL result.color, west.x, half;
END
