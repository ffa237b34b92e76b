!!ARBfp1.0
# 40 instructions: each of seven lookups lies near the fragment, by as much as the texel says that the
# one before it found. For a linear filter.
TEMP p, q, c;
TEX p, fragment.texcoord[0], texture[0], RECT;
MUL q, p, 0.125;
MUL c, p, 3;
ADD c, c, fragment.texcoord[0];
MAX c, c, 0;
TEX p, c, texture[0], RECT;
MAD q, p, 0.125, q;
MUL c, p, 5;
ADD c, c, fragment.texcoord[0];
MAX c, c, 0;
TEX p, c, texture[0], RECT;
MAD q, p, 0.125, q;
MUL c, p, 7;
ADD c, c, fragment.texcoord[0];
MAX c, c, 0;
TEX p, c, texture[0], RECT;
MAD q, p, 0.125, q;
MUL c, p, -3;
ADD c, c, fragment.texcoord[0];
MAX c, c, 0;
TEX p, c, texture[0], RECT;
MAD q, p, 0.125, q;
MUL c, p, -5;
ADD c, c, fragment.texcoord[0];
MAX c, c, 0;
TEX p, c, texture[0], RECT;
MAD q, p, 0.125, q;
MUL c, p, -7;
ADD c, c, fragment.texcoord[0];
MAX c, c, 0;
TEX p, c, texture[0], RECT;
MAD q, p, 0.125, q;
MUL c, p, 4;
ADD c, c, fragment.texcoord[0];
MAX c, c, 0;
TEX p, c, texture[0], RECT;
MAD q, p, 0.125, q;
MUL q, q, 2;
SUB q, q, 1;
MOV result.color, q;
END
