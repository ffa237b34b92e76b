!!ARBfp1.0
# Larson & McAllister 2001, as Figure 1 of Hall, Carr & Hart 2003 restates it: one of the l passes.
# In 2001 this was fixed-function state, not a program; modulate.txt in this folder shows it.
TEMP A, B;
TEX A, fragment.texcoord[0], texture[0], RECT;   # "texA coords": column i of A, replicated
TEX B, fragment.texcoord[1], texture[1], RECT;   # "texB coords": row i of B, replicated
MUL result.color, A, B;                          # "Set the multitexturing mode to modulate"
END
