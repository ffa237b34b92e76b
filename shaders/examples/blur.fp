!!ARBfp1.0
# A Gaussian blur along one direction, weights 1 4 6 4 1 over 16: run it along x, then along y.
# Texture 0 is a rectangle; program.local[0] is the step in texels, (1, 0, 0, 0) or (0, 1, 0, 0).

ATTRIB place = fragment.texcoord[0];
PARAM step = program.local[0];
PARAM weights = { 0.0625, 0.25, 0.375, 2 };
TEMP far_left, left, middle, right, far_right;

MAD far_left, step, -weights.w, place;
SUB left, place, step;
ADD right, place, step;
MAD far_right, step, weights.w, place;

TEX far_left, far_left, texture[0], RECT;
TEX left, left, texture[0], RECT;
TEX middle, place, texture[0], RECT;
TEX right, right, texture[0], RECT;
TEX far_right, far_right, texture[0], RECT;

ADD left, left, right;
ADD far_left, far_left, far_right;
MUL middle, middle, weights.z;
MAD middle, left, weights.y, middle;
MAD result.color, far_left, weights.x, middle;
END
