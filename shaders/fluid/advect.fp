!!ARBfp1.0
# What the flow carries here: the field where this fragment's fluid was a time step ago.
# Texture 0 holds the velocity in texels a unit of time, texture 1 the field. program.local[0] is the
# time step, and what is left of the field after it. Chips of 2003 do not filter float textures, so
# the program mixes the four texels around the place itself.

PARAM half = 0.5;
PARAM one = { 1.0, 0.0, 0.0, 0.0 };
TEMP place, part, a, b, c, d;

TEX place, fragment.position, texture[0], RECT;
MAD place, place, -program.local[0].x, fragment.position;

SUB place, place, half;
FRC part, place;
FLR place, place;
ADD a, place, half;
ADD b, a, one.xyyy;
ADD c, a, one.yxyy;
ADD d, b, one.yxyy;

TEX a, a, texture[1], RECT;
TEX b, b, texture[1], RECT;
TEX c, c, texture[1], RECT;
TEX d, d, texture[1], RECT;

SUB b, b, a;
SUB d, d, c;
MAD a, part.x, b, a;
MAD c, part.x, d, c;
SUB c, c, a;
MAD a, part.y, c, a;
MUL result.color, a, program.local[0].y;
END
