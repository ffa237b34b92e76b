!!ARBfp1.0
# expect 4:8 ARB_fog_exp2 conflicts with ARB_fog_linear
OPTION ARB_fog_linear;
OPTION ARB_fog_exp2;
END
