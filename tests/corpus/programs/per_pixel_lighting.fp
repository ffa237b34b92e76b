!!ARBfp1.0
# Blinn-Phong in eye space for the first light. Coordinate set 0 is the normal, set 1 the position.
OPTION ARB_precision_hint_nicest;
ATTRIB normal = fragment.texcoord[0];
ATTRIB position = fragment.texcoord[1];
PARAM light = state.light[0].position;
PARAM half = state.light[0].half;
PARAM attenuation = state.light[0].attenuation;
PARAM shininess = state.material.shininess;
PARAM ambient = state.lightmodel.scenecolor;
PARAM products[3] = { state.lightprod[0].ambient, state.lightprod[0].diffuse, state.lightprod[0].front.specular };
OUTPUT out = result.color;
TEMP N, L, coeff, lit, col, dist;
DP3 N.w, normal, normal;
RSQ N.w, N.w;
MUL N.xyz, normal, N.w;
SUB L, light, position;
DP3 dist.w, L, L;
RSQ L.w, dist.w;
MUL L.xyz, L, L.w;
DST dist, dist.w, L.w;             # (1, d, d*d, 1/d)
DP3 dist.w, dist, attenuation;
RCP dist.w, dist.w;
DP3 coeff.x, N, L;
DP3 coeff.y, N, half;
MOV coeff.w, shininess.x;
LIT lit, coeff;
MAD col.rgb, lit.y, products[1], products[0];
MAD col.rgb, lit.z, products[2], col;
MAD_SAT out.rgb, col, dist.w, ambient;
MOV out.a, ambient.a;
END
