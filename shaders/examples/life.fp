!!ARBfp1.0
# A generation of Conway's game of life. Texture 0, which repeats, holds 1 for living cells and 0
# for dead ones; program.local[0] is (1 / width, 1 / height, 0, 0).
# All coordinates are computed before the first lookup, so there are 2 indirections and not 9.

PARAM texel = program.local[0];
PARAM lives = { 2.25, 3.75, 0.5, 1 };
TEMP here, west, east, south, north, southwest, southeast, northwest, northeast, sum;

MUL here, fragment.position, texel;
MAD west, texel, { -1, 0, 0, 0 }, here;
MAD east, texel, { 1, 0, 0, 0 }, here;
MAD south, texel, { 0, -1, 0, 0 }, here;
MAD north, texel, { 0, 1, 0, 0 }, here;
MAD southwest, texel, { -1, -1, 0, 0 }, here;
MAD southeast, texel, { 1, -1, 0, 0 }, here;
MAD northwest, texel, { -1, 1, 0, 0 }, here;
MAD northeast, texel, { 1, 1, 0, 0 }, here;

TEX here, here, texture[0], 2D;
TEX west, west, texture[0], 2D;
TEX east, east, texture[0], 2D;
TEX south, south, texture[0], 2D;
TEX north, north, texture[0], 2D;
TEX southwest, southwest, texture[0], 2D;
TEX southeast, southeast, texture[0], 2D;
TEX northwest, northwest, texture[0], 2D;
TEX northeast, northeast, texture[0], 2D;

ADD sum, west, east;
ADD sum, sum, south;
ADD sum, sum, north;
ADD sum, sum, southwest;
ADD sum, sum, southeast;
ADD sum, sum, northwest;
ADD sum, sum, northeast;

# A cell lives on with 3 neighbours, or with 2 if it is alive: neighbours + cell/2 is 2.5 to 3.5.
MAD sum, here, lives.z, sum;
SGE west, sum, lives.x;
SGE east, lives.y, sum;
MUL result.color, west, east;
MOV result.color.w, lives.w;
END
