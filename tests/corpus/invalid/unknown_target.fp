!!ARBfp1.0
# expect 4:25 1D, 2D, 3D, CUBE, RECT
TEMP R0, R1;
TEX R0, R1, texture[0], SQUARE;
END
