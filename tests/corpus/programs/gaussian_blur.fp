!!ARBfp1.0
# One direction of a separable blur of 7 taps: program.local[0] is the step from tap to tap.
PARAM weight[4] = { { 0.383103 }, { 0.241843 }, { 0.060626 }, { 0.005980 } };
PARAM step = program.local[0];
ATTRIB at = fragment.texcoord[0];
TEMP t0, t1, a, b, sum;
TEX sum, at, texture[0], RECT;
MUL sum, sum, weight[0].x;
ADD t0, at, step; SUB t1, at, step;
TEX a, t0, texture[0], RECT; TEX b, t1, texture[0], RECT;
ADD a, a, b; MAD sum, a, weight[1].x, sum;
MAD t0, step, 2, at; MAD t1, -step, 2, at;
TEX a, t0, texture[0], RECT; TEX b, t1, texture[0], RECT;
ADD a, a, b; MAD sum, a, weight[2].x, sum;
MAD t0, step, 3.0, at; MAD t1, step, -3.0, at;
TEX a, t0, texture[0], RECT; TEX b, t1, texture[0], RECT;
ADD a, a, b;
MAD result.color, a, weight[3].x, sum;
END
