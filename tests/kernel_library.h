/* What random kernels compute, in C99: float32, statement by statement, and the functions of the
   Cg manual or, with -DGLSL, of GLSL's chapter 8. A quotient is the product with the reciprocal,
   sqrt is 1/(1/sqrt), an int is a float without a fraction whose zero has no sign. A vector has
   four components always; what is beyond its width means nothing. */

#include <math.h>

typedef struct { float x, y, z, w; } V;
typedef struct { V a; float b; } Pair;

/* A square texture, and what is added to a place to find its texel. */
enum { SIDE = 8 };
typedef struct { const V *texels; float shift; } Image;

static V all(float a) { return (V){a, a, a, a}; }
static float at(V v, int n) { return n == 0 ? v.x : n == 1 ? v.y : n == 2 ? v.z : v.w; }
static V pick(V v, int i, int j, int k, int l) { return (V){at(v, i), at(v, j), at(v, k), at(v, l)}; }
static V join(int n, V a, V b)
{
    return n == 1 ? (V){a.x, b.x, b.y, b.z} : n == 2 ? (V){a.x, a.y, b.x, b.y} : (V){a.x, a.y, a.z, b.x};
}

#define OF_ONE(name, value) \
    static float name##1(float a) { return value; } \
    static V name(V v) { return (V){name##1(v.x), name##1(v.y), name##1(v.z), name##1(v.w)}; }
#define OF_TWO(name, value) \
    static float name##1(float a, float b) { return value; } \
    static V name(V v, V u) \
    { return (V){name##1(v.x, u.x), name##1(v.y, u.y), name##1(v.z, u.z), name##1(v.w, u.w)}; }
#define OF_THREE(name, value) \
    static float name##1(float a, float b, float c) { return value; } \
    static V name(V v, V u, V t) \
    { return (V){name##1(v.x, u.x, t.x), name##1(v.y, u.y, t.y), name##1(v.z, u.z, t.z), \
                 name##1(v.w, u.w, t.w)}; }

OF_TWO(add, a + b)
OF_TWO(subtract, a - b)
OF_TWO(multiply, a * b)
OF_TWO(divide, a * (1.0f / b))
OF_ONE(negate, -a)

static float below_one(float a) { return a > 0.99999994f ? 0.99999994f : a; }

OF_ONE(abs_, fabsf(a))
OF_ONE(ceil_, -floorf(-a))
OF_ONE(floor_, floorf(a))
OF_ONE(frac_, below_one(a - floorf(a)))
OF_ONE(round_, floorf(a + 0.5f))
OF_ONE(rsqrt_, 1.0f / sqrtf(fabsf(a)))
OF_ONE(sign_, (float)(a > 0) - (float)(a < 0))
OF_ONE(sqrt_, 1.0f / rsqrt_1(a))
OF_ONE(unit_, a > 0 ? a < 1 ? a : 1 : 0)
OF_TWO(step_, b >= a ? 1.0f : 0.0f)
OF_TWO(lower, a > b ? b : a)
OF_TWO(higher, a > b ? a : b)
OF_THREE(lerp_, c * b + (1.0f - c) * a)
#ifdef GLSL
OF_TWO(fmod_, a - b * floorf(divide1(a, b)))
OF_TWO(min_, b < a ? b : a)
OF_TWO(max_, a < b ? b : a)
OF_THREE(clamp_, min_1(max_1(a, b), c))
OF_ONE(saturate_, clamp_1(a, 0, 1))
#else
static float with_sign(float size, float a) { return a < 0 ? -size : size; }
OF_TWO(fmod_, with_sign(frac_1(fabsf(divide1(a, b))) * fabsf(b), a))
OF_TWO(min_, lower1(a, b))
OF_TWO(max_, higher1(a, b))
OF_THREE(clamp_, higher1(lower1(a, c), b))
OF_ONE(saturate_, unit_1(a))
#endif

static float smoother(float t) { return t * t * (3.0f - 2.0f * t); }
OF_THREE(smoothstep_, smoother(unit_1(divide1(c - a, b - a))))

OF_TWO(quotient, truncf(truncf(a) / b) + 0)
OF_TWO(remainder_, fmodf(truncf(a), b) + 0)
OF_TWO(total, truncf(a) + b)

static float dot_(int n, V a, V b)
{
    float total = a.x * b.x;
    for (int k = 1; k < n; k++) total = total + at(a, k) * at(b, k);
    return total;
}
static float length_(int n, V a) { return sqrt_1(dot_(n, a, a)); }
static float distance_(int n, V a, V b) { return length_(n, subtract(a, b)); }
static V normalize_(int n, V a) { return multiply(a, all(rsqrt_1(dot_(n, a, a)))); }
static V reflect_(V i, V n) { return subtract(i, multiply(multiply(all(2), n), all(dot_(3, n, i)))); }
static V cross_(V a, V b)
{
    V left = multiply(pick(a, 1, 2, 0, 0), pick(b, 2, 0, 1, 0));
    return subtract(left, multiply(pick(a, 2, 0, 1, 0), pick(b, 1, 2, 0, 0)));
}
/* a row times the matrix of rows a, b and c, and that matrix times a column */
static V row_times(V v, V a, V b, V c)
{
    V x = {a.x, b.x, c.x, 0}, y = {a.y, b.y, c.y, 0}, z = {a.z, b.z, c.z, 0};
    return (V){dot_(3, v, x), dot_(3, v, y), dot_(3, v, z), 0};
}
static V times_column(V a, V b, V c, V v) { return (V){dot_(3, a, v), dot_(3, b, v), dot_(3, c, v), 0}; }

static int any_more(V a, V b) { return a.x > b.x || a.y > b.y || a.z > b.z; }
static int all_more(V a, V b) { return a.x > b.x && a.y > b.y && a.z > b.z; }

static int side(float a) { return !(a > 0) ? 0 : a > SIDE - 1 ? SIDE - 1 : (int)a; }
static V texel(Image image, V v)
{
    int row = side(floorf(v.y + image.shift)), column = side(floorf(v.x + image.shift));
    return image.texels[row * SIDE + column];
}

static float twice_1(float x) { return x * 2.0f; }
static V twice_(V x) { return add(x, x); }
static float early_1(float a, float b)
{
    if (a < b) return a;
    if (b > 1.0f) { b = b * 0.5f; if (a > 2.0f) return b; }
    return a - b;
}
static void split(V v, V *low, float *high) { *low = add(v, all(*high)); *high = v.w; }
static float last_1(V v, float limit)
{
    float best = -1.0f;
    for (int i = 0; i < 4; i++) {
        if (at(v, i) > limit) continue;
        best = at(v, i);
        if (best < 0.0f) break;
    }
    return best;
}
static float find_1(V v, float x)
{
    for (int i = 0; i < 4; i++) {
        if (at(v, i) == x) return i + 0.5f;
        if (at(v, i) < -1.0f) {
            for (int j = 0; j < 3; j++) {
                if (x > j) break;
                x += 0.75f;
                if (x == 1.5f) return -x;
            }
        }
    }
    return x;
}
