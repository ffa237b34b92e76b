!!ARBfp1.0
# The smoke here, and what its source adds in a time step, program.local[0].x.

TEMP smoke, source;

TEX smoke, fragment.position, texture[0], RECT;
TEX source, fragment.texcoord[0], texture[1], RECT;

MAD result.color, source, program.local[0].x, smoke;
END
