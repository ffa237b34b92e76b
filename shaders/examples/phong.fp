!!ARBfp1.0
# A sphere, lit per fragment. Lit per vertex, as was usual in 2002, it would show its polygons.
# Texture coordinate set 0 runs from (-1, -1) to (1, 1); fragments off the sphere are discarded.
# Light 0 is directional, as GL's initial one is; its colours and the material's are GL state.

ATTRIB place = fragment.texcoord[0];
PARAM one = 1;
PARAM light = state.light[0].position;
PARAM half = state.light[0].half;
PARAM ambient = state.lightmodel.scenecolor;
PARAM diffuse = state.lightprod[0].diffuse;
PARAM specular = state.lightprod[0].specular;
PARAM shininess = state.material.shininess;
TEMP normal, direction, shine;

# z on the sphere is sqrt(1 - x*x - y*y), computed as a / sqrt(a)
MUL normal.xy, place, place;
SUB normal.z, one.x, normal.x;
SUB normal.z, normal.z, normal.y;
KIL normal.z;
RSQ shine.x, normal.z;
MUL normal.z, normal.z, shine.x;
MOV normal.xy, place;

# normalise what interpolation and rounding changed
DP3 shine.x, normal, normal;
RSQ shine.x, shine.x;
MUL normal.xyz, normal, shine.x;
DP3 shine.x, light, light;
RSQ shine.x, shine.x;
MUL direction.xyz, light, shine.x;

DP3 shine.x, normal, direction;
DP3 shine.y, normal, half;
MOV shine.w, shininess.x;
LIT shine, shine;

MAD direction.xyz, shine.y, diffuse, ambient;
MAD result.color.xyz, shine.z, specular, direction;
MOV result.color.w, one.x;
END
