!!ARBfp1.0
# A row of the matrix times p: four times the texel less its four neighbours.
# The rasteriser interpolates all places: set 0 is the texel, sets 1 to 4 are its neighbours.

PARAM four = 4.0;
TEMP p, west, east, south, north;

TEX p, fragment.texcoord[0], texture[0], RECT;
TEX west, fragment.texcoord[1], texture[0], RECT;
TEX east, fragment.texcoord[2], texture[0], RECT;
TEX south, fragment.texcoord[3], texture[0], RECT;
TEX north, fragment.texcoord[4], texture[0], RECT;

ADD west, west, east;
ADD south, south, north;
ADD west, west, south;
MAD result.color, p, four, -west;
END
