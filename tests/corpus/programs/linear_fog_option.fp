!!ARBfp1.0
OPTION ARB_fog_linear;
OPTION ARB_precision_hint_fastest;
TEMP base;
TEX base, fragment.texcoord[0], texture[0], 2D;
MAD result.color, base, fragment.color, fragment.color.secondary;
END
