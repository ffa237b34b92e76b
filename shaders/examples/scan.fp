!!ARBfp1.0
# x[j] + x[j - distance], where there is such an element.
PARAM distance = program.local[0];
TEMP here, back, left;

SUB back, fragment.texcoord[0], distance;
TEX here, fragment.texcoord[0], texture[0], RECT;
TEX left, back, texture[0], RECT;
CMP left, back.x, { 0, 0, 0, 0 }, left;
ADD result.color, here, left;
END
