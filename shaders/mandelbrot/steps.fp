!!ARBfp1.0
# The number of steps, from blue.
TEMP z;
TEX z, fragment.texcoord[0], texture[0], RECT;
MOV result.color, z.z;
END
