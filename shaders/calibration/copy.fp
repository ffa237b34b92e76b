!!ARBfp1.0
# A texture to the framebuffer, texel by texel: one read and one write.
TEX result.color, fragment.texcoord[0], texture[0], RECT;
END
