!!ARBfp1.0
# One more pass after a product P: alpha P, element by element.
TEMP P;
PARAM alpha = program.local[0];
TEX P, fragment.texcoord[0], texture[0], RECT;
MUL result.color, P, alpha;
END
