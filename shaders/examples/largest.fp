!!ARBfp1.0
# The largest of four texels. The coordinate is the corner that they share.
TEMP a, b, c, d;
ADD a, fragment.texcoord[0], { -0.5, -0.5, 0, 0 };
ADD b, fragment.texcoord[0], { 0.5, -0.5, 0, 0 };
ADD c, fragment.texcoord[0], { -0.5, 0.5, 0, 0 };
ADD d, fragment.texcoord[0], { 0.5, 0.5, 0, 0 };
TEX a, a, texture[0], RECT;
TEX b, b, texture[0], RECT;
TEX c, c, texture[0], RECT;
TEX d, d, texture[0], RECT;
MAX a, a, b;
MAX c, c, d;
MAX result.color, a, c;
END
