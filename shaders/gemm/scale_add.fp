!!ARBfp1.0
# One more pass after a product P: alpha P + beta C, element by element.
TEMP P, C;
PARAM alpha = program.local[0];
PARAM beta = program.local[1];
TEX P, fragment.texcoord[0], texture[0], RECT;
TEX C, fragment.texcoord[0], texture[1], RECT;
MUL C, C, beta;
MAD result.color, P, alpha, C;
END
