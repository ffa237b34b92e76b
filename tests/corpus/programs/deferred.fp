!!ARBfp1.0
# Four targets at once: colour, normal, position, and what is left.
OPTION ARB_draw_buffers;
OUTPUT colour = result.color[0];
OUTPUT normal = result.color[1];
TEMP n;
TEX colour, fragment.texcoord[0], texture[0], 2D;
DP3 n.w, fragment.texcoord[1], fragment.texcoord[1];
RSQ n.w, n.w;
MAD normal.xyz, fragment.texcoord[1], n.w, 0;
MOV normal.w, state.material.shininess.x;
MOV result.color[2], fragment.position;
MOV result.color[3], fragment.color.secondary;
END
