!!ARBfp1.0
# expect 4:13 made of 0, 1 and components
TEMP R0;
SWZ R0, R0, 01, x, y, z;
END
