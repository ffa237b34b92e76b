!!ARBfp1.0
# A fence: holes are killed, what is left has its depth set back.
TEMP c, k, depth;
TXB c, fragment.texcoord[0], texture[0], 2D;
SUB k, c.a, program.env[3].x;
KIL k;
KIL -{ -1, 0, 0, 0 };
MOV depth, fragment.position;
ADD result.depth.z, depth.z, { 0.001 }.x;
MOV result.color, c;
END
