!!ARBfp1.0
# A further pass after a product P: alpha P, element by element.
TEMP P;
PARAM alpha = program.local[0];   # of alpha A B
TEX P, fragment.texcoord[0], texture[0], RECT;   # P = A B
MUL result.color, P, alpha;       # alpha A B
END
