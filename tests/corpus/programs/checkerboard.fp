!!ARBfp1.0
# A procedural texture: floor, fraction and the angle of a rotating pattern.
PARAM colours[2] = { { 0.9, 0.8, 0.7 }, 0.1 };
TEMP p, f, sc;
SCS sc.xy, program.local[0].x;
MUL p.xy, fragment.position, sc;
MUL p.zw, fragment.position.xxyx, sc.yyyx;
ADD p.x, p.x, -p.y;
ADD p.y, p.z, p.w;
MUL p.xy, p, 0.0625;
FLR f.xy, p;
ADD f.x, f.x, f.y;
MUL f.x, f.x, .5;
FRC f.x, f.x;
SUB f.x, f.x, .25;
LG2 f.y, fragment.position.w;
CMP result.color, f.x, colours[0], colours[1];
END
