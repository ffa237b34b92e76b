!!ARBfp1.0
# A reflection in world space, its matrix's rows taken from the state.
PARAM world[] = { state.matrix.modelview.invtrans };
PARAM eye[2] = { state.matrix.texture[1].row[0..1] };
PARAM half = 0.5;
TEMP R, N, V, f;
MOV N, fragment.texcoord[0];
DP3 R.x, world[0], N;
DP3 R.y, world[1], N;
DP3 R.z, world[2], N;
DP4 V.x, eye[0], fragment.texcoord[1];
DPH V.y, fragment.texcoord[1], eye[1];
MOV V.zw, { 0, 0, 1, 1 };
DP3 f.x, R, V;
MUL N.xyz, R, f.x;
MAD R.xyz, N, 2.0, -V;
XPD N.xyz, R, V;
ABS N.xyz, N;
MAX N.x, N.x, N.y;
MIN N.x, N.x, half.x;
SWZ V, R, x, -z, y, 1;
TEX V, V, texture[3], CUBE;
LRP result.color, N.x, V, state.material.front.diffuse;
END
