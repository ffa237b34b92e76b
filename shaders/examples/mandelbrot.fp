!!ARBfp1.0
# Iterates z = z*z + c ten times, for the complex number c in texture coordinate set 0. There are no
# loops, so the iterations are unrolled. It counts those in which |z| stays within 2; the count gives
# the colour, and points that never leave are black. An R300 allows no more than 64 instructions, and
# has few swizzles, save for w: the real part of z is in x, the imaginary part in w.

ATTRIB c = fragment.texcoord[0];
PARAM radius = 4;                      # 2 squared
PARAM twice = { 1, 0, 0, 2 };
PARAM least = 9.5;
PARAM shade = { 0.16, 0.11, 0.06, 0 };
TEMP z, next, square, size, count;

MOV count, 0;

# step 1
MUL square.xw, c.xyzy, c.xyzx;         # x*x, x*y
MAD size.x, c.y, c.y, square.x;        # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD next.xw, square, twice, c.xyzy;    # x*x + c.x, 2*x*y + c.y
MAD next.x, -c.y, c.y, next.x;         # x*x + c.x - y*y

# step 2
MUL square.xw, next, next.xyzx;        # x*x, x*y
MAD size.x, next.w, next.w, square.x;  # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xw, square, twice, c.xyzy;       # x*x + c.x, 2*x*y + c.y
MAD z.x, -next.w, next.w, z.x;         # x*x + c.x - y*y

# step 3
MUL square.xw, z, z.xyzx;              # x*x, x*y
MAD size.x, z.w, z.w, square.x;        # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD next.xw, square, twice, c.xyzy;    # x*x + c.x, 2*x*y + c.y
MAD next.x, -z.w, z.w, next.x;         # x*x + c.x - y*y

# step 4
MUL square.xw, next, next.xyzx;        # x*x, x*y
MAD size.x, next.w, next.w, square.x;  # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xw, square, twice, c.xyzy;       # x*x + c.x, 2*x*y + c.y
MAD z.x, -next.w, next.w, z.x;         # x*x + c.x - y*y

# step 5
MUL square.xw, z, z.xyzx;              # x*x, x*y
MAD size.x, z.w, z.w, square.x;        # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD next.xw, square, twice, c.xyzy;    # x*x + c.x, 2*x*y + c.y
MAD next.x, -z.w, z.w, next.x;         # x*x + c.x - y*y

# step 6
MUL square.xw, next, next.xyzx;        # x*x, x*y
MAD size.x, next.w, next.w, square.x;  # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xw, square, twice, c.xyzy;       # x*x + c.x, 2*x*y + c.y
MAD z.x, -next.w, next.w, z.x;         # x*x + c.x - y*y

# step 7
MUL square.xw, z, z.xyzx;              # x*x, x*y
MAD size.x, z.w, z.w, square.x;        # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD next.xw, square, twice, c.xyzy;    # x*x + c.x, 2*x*y + c.y
MAD next.x, -z.w, z.w, next.x;         # x*x + c.x - y*y

# step 8
MUL square.xw, next, next.xyzx;        # x*x, x*y
MAD size.x, next.w, next.w, square.x;  # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xw, square, twice, c.xyzy;       # x*x + c.x, 2*x*y + c.y
MAD z.x, -next.w, next.w, z.x;         # x*x + c.x - y*y

# step 9
MUL square.xw, z, z.xyzx;              # x*x, x*y
MAD size.x, z.w, z.w, square.x;        # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD next.xw, square, twice, c.xyzy;    # x*x + c.x, 2*x*y + c.y
MAD next.x, -z.w, z.w, next.x;         # x*x + c.x - y*y

# step 10
MUL square.xw, next, next.xyzx;        # x*x, x*y
MAD size.x, next.w, next.w, square.x;  # x*x + y*y
SGE size.x, radius.x, size.x;          # 0 for NaN as well
ADD count.x, count.x, size.x;
MAD z.xw, square, twice, c.xyzy;       # x*x + c.x, 2*x*y + c.y
MAD z.x, -next.w, next.w, z.x;         # x*x + c.x - y*y

SLT size.x, count.x, least.x;          # 0 inside
MUL size.x, size.x, count.x;
MAD result.color, size.x, shade, { 0, 0, 0, 1 };
END
