!!ARBfp1.0
# Copies a texture to the framebuffer: one lookup and one write per fragment.
TEX result.color, fragment.texcoord[0], texture[0], RECT;
END
