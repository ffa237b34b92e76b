!!ARBfp1.0
# expect 4:16 not both
TEMP R0;
SWZ R0, R0, x, g, z, w;
END
