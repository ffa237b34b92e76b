!!ARBfp1.0
# Iterates z = z*z + c ten times, for the complex number c in texture coordinate set 0. There are no
# loops, so the iterations are unrolled. It counts those in which |z| stays within 2;
# the count gives the colour, and points that never leave are black. An R300 allows no more than 64 instructions.

ATTRIB c = fragment.texcoord[0];
PARAM radius = 4;                      # 2 squared
PARAM twice = { 1, 2, 0, 0 };
PARAM least = 9.5;
PARAM shade = { 0.16, 0.11, 0.06, 0 };
TEMP z, square, size, count;

MOV count, 0;

# step 1
MUL square.xyz, c.xyxx, c.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 2
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 3
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 4
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 5
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 6
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 7
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 8
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 9
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

# step 10
MUL square.xyz, z.xyxx, z.xyyy;        # x*x, y*y, x*y
ADD size.x, square.x, square.y;
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xy, square.xzzz, twice, c;       # x*x + c.x, 2*x*y + c.y
SUB z.x, z.x, square.y;

SLT size.x, count.x, least.x;          # 0 inside
MUL size.x, size.x, count.x;
MAD result.color, size.x, shade, { 0, 0, 0, 1 };
END
