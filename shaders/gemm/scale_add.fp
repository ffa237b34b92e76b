!!ARBfp1.0
# A further pass after a product P: alpha P + beta C, element by element.
TEMP P, C;
PARAM alpha = program.local[0];   # of C = alpha A B + beta C
PARAM beta = program.local[1];    # of C = alpha A B + beta C
TEX P, fragment.texcoord[0], texture[0], RECT;   # P = A B
TEX C, fragment.texcoord[0], texture[1], RECT;   # C
MUL C, C, beta;                   # beta C
MAD result.color, P, alpha, C;    # alpha A B + beta C
END
