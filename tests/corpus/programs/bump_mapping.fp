!!ARBfp1.0
# Tangent space: the light in set 1, the half vector in set 2, gloss in the normal map's alpha.
ATTRIB uv = fragment.texcoord[0];
ATTRIB L = fragment.texcoord[1];
ATTRIB H = fragment.texcoord[2];
TEMP normal, base, light, half, spec, lit;
TEX base, uv, texture[0], 2D;
TEX normal, uv, texture[1], 2D;
MAD normal.xyz, normal, { 2, 2, 2, 0 }, { -1, -1, -1, 0 };
DP3 light.w, L, L;
RSQ light.w, light.w;
MUL light.xyz, L, light.w;
TEX half, H, texture[2], CUBE;
MAD half, half, 2, -1;
DP3_SAT lit.x, normal, light;
DP3_SAT lit.y, normal, half;
POW spec.x, lit.y, program.local[0].x;
MUL spec.x, spec.x, normal.w;
ALIAS shaded = base;
MUL shaded.rgb, base, lit.x;
MAD_SAT shaded.rgb, spec.x, program.local[1], shaded;
MOV result.color, shaded;
END
