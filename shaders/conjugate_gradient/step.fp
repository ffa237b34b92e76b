!!ARBfp1.0
# a + (s / t)·b for vectors a and b and scalars s and t, each a texture of one texel.
# program.local[0] is 1 or -1, the sign of s. Every fragment divides for itself.

PARAM only = { 0.5, 0.5, 0.0, 1.0 };
TEMP a, b, s, t;

TEX a, fragment.texcoord[0], texture[0], RECT;
TEX b, fragment.texcoord[1], texture[1], RECT;
TEX s, only, texture[2], RECT;
TEX t, only, texture[3], RECT;

RCP t, t.x;
MUL s, s.x, t.x;
MUL s, s.x, program.local[0].x;
MAD result.color, s.x, b, a;
END
