!!ARBfp1.0
# The products of two vectors' elements, whose sum is their dot product.

TEMP a, b;

TEX a, fragment.texcoord[0], texture[0], RECT;
TEX b, fragment.texcoord[1], texture[1], RECT;

MUL result.color, a, b;
END
