!!ARBfp1.0
# A step of Jacobi's relaxation: the mean of the four neighbours, and a fourth of the right side b.
# Texture 0 holds x, texture 1 holds b. The rasteriser interpolates all coordinates: set 0 is the
# texel of b, sets 1 to 4 are the neighbours in x. So no lookup waits for another.

TEMP west, east, south, north, b;

TEX west, fragment.texcoord[1], texture[0], RECT;
TEX east, fragment.texcoord[2], texture[0], RECT;
TEX south, fragment.texcoord[3], texture[0], RECT;
TEX north, fragment.texcoord[4], texture[0], RECT;
TEX b, fragment.texcoord[0], texture[1], RECT;

ADD west, west, east;
ADD south, south, north;
ADD west, west, south;
ADD west, west, b;
MUL result.color, west, 0.25;
END
