!!ARBfp1.0
# expect 4:9 carries the signs
TEMP R0;
SWZ R0, -R0, x, y, z, w;
END
