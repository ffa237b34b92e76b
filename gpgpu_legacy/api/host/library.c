// C's library, and what Brook adds. Python has the functions without bodies here.

// Mathematics.
double sin(double); double cos(double); double tan(double); double asin(double);
double acos(double); double atan(double); double sinh(double); double cosh(double);
double tanh(double); double exp(double); double log(double); double log10(double);
double log2(double); double sqrt(double); double cbrt(double); double fabs(double);
double floor(double); double ceil(double); double rint(double); double trunc(double);
double atan2(double, double); double fmod(double, double); double pow(double, double);
double fmax(double, double); double fmin(double, double); double hypot(double, double);
double ldexp(double, int);
float sinf(float); float cosf(float); float tanf(float); float asinf(float); float acosf(float);
float atanf(float); float sinhf(float); float coshf(float); float tanhf(float); float expf(float);
float logf(float); float log10f(float); float log2f(float); float sqrtf(float); float cbrtf(float);
float fabsf(float); float floorf(float); float ceilf(float); float rintf(float);
float truncf(float); float atan2f(float, float); float fmodf(float, float);
float powf(float, float); float fmaxf(float, float); float fminf(float, float);
float hypotf(float, float); float ldexpf(float, int);

// Input and output.
int printf(char *, ...); int fprintf(FILE *, char *, ...); int sprintf(char *, char *, ...);
int scanf(char *, ...); int fscanf(FILE *, char *, ...); int sscanf(char *, char *, ...);
FILE *fopen(char *, char *); int fclose(FILE *); int feof(FILE *);
int fputc(int, FILE *); int fgetc(FILE *);
size_t fread(void *, size_t, size_t, FILE *); size_t fwrite(void *, size_t, size_t, FILE *);

// Memory, strings and the program itself.
void *malloc(size_t); void *realloc(void *, size_t); void free(void *);
void *memcpy(void *, void *, size_t); void *memmove(void *, void *, size_t);
void *memset(void *, int, size_t); int memcmp(void *, void *, size_t); size_t strlen(char *);
void exit(int); void assert(int);

// Streams; a string is the name of what combines elements.
void streamRead(void<>, void *); void streamWrite(void<>, void *);
void streamPrint(void<>, ...); void streamSwap(void<>, void<>); float4 streamSize(void<>);
void streamScatterOp(void<>, void<>, void<>, string operation);
void streamGatherOp(void<>, void<>, void<>, string operation);

enum {
    false, true, NULL = 0, EOF = -1, EXIT_SUCCESS = 0, EXIT_FAILURE,
    RAND_MAX = 2147483647, INT_MAX = 2147483647, INT_MIN = -2147483647 - 1
};
const unsigned UINT_MAX = 4294967295u;
const long CLOCKS_PER_SEC = 1000000;
const float FLT_MAX = 3.40282347e38f, FLT_MIN = 1.17549435e-38f, FLT_EPSILON = 1.1920929e-7f;
const double DBL_MAX = 1.7976931348623157e308, DBL_EPSILON = 2.220446049250313e-16;
const double M_PI = 3.141592653589793, HUGE_VAL = 1e999;
const float INFINITY = 1e999, NAN = INFINITY * 0;

// Addresses without an object.
FILE *stdin = (void *)-1, *stdout = (void *)-2, *stderr = (void *)-3;

// Time stands still.
struct timeval { long tv_sec, tv_usec; };
struct timezone { int tz_minuteswest, tz_dsttime; };
clock_t clock() { return 0; }
double GetTimeMillis() { return 0; }
time_t time(time_t *to) { if (to) *to = 0; return 0; }
int gettimeofday(struct timeval *to, void *zone) { to->tv_sec = to->tv_usec = 0; return 0; }

// Memory: new objects hold zeros.
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *brmalloc(size_t size) { return malloc(size); }
void brfree(void *object) { free(object); }

// Characters.
int isupper(int c) { return c >= 'A' && c <= 'Z'; }
int islower(int c) { return c >= 'a' && c <= 'z'; }
int isdigit(int c) { return c >= '0' && c <= '9'; }
int isalpha(int c) { return isupper(c) || islower(c); }
int isalnum(int c) { return isalpha(c) || isdigit(c); }
int isspace(int c) { return c == ' ' || c >= '\t' && c <= '\r'; }
int toupper(int c) { return islower(c) ? c - 32 : c; }
int tolower(int c) { return isupper(c) ? c + 32 : c; }

// Strings.
char *strcpy(char *to, const char *from) { return memcpy(to, from, strlen(from) + 1); }
char *strdup(const char *text) { return strcpy(malloc(strlen(text) + 1), text); }
char *strcat(char *to, const char *from) { strcpy(to + strlen(to), from); return to; }
char *strncpy(char *to, const char *from, size_t size) {
    size_t length = strlen(from);
    if (length < size)
        memset(to + length, 0, size - length);
    return memcpy(to, from, length < size ? length : size);
}
char *strchr(const char *text, int wanted) {
    for (; *text != (char)wanted; text++)
        if (!*text)
            return NULL;
    return text;
}
int strcmp(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    return memcmp(a, b, (m < n ? m : n) + 1);
}
int strncmp(const char *a, const char *b, size_t size) {
    size_t m = strlen(a), n = strlen(b), length = (m < n ? m : n) + 1;
    return memcmp(a, b, length < size ? length : size);
}
int atoi(const char *text) { int number = 0; sscanf(text, "%d", &number); return number; }
double atof(const char *text) { double number = 0; sscanf(text, "%lf", &number); return number; }

// Input and output.
int puts(const char *line) { return printf("%s\n", line); }
int fputs(const char *text, FILE *to) { return fprintf(to, "%s", text); }
int putchar(int c) { return fputc(c, stdout); }
int putc(int c, FILE *to) { return fputc(c, to); }
int getchar() { return fgetc(stdin); }
char *fgets(char *to, int size, FILE *from) {
    int c = 0, n = 0;
    while (n < size - 1 && c != '\n' && (c = fgetc(from)) != EOF)
        to[n++] = c;
    if (!n && size != 1)
        return NULL;
    to[n] = 0;
    return to;
}
int getc(FILE *from) { return fgetc(from); }
int fflush(FILE *to) { return 0; }

// Sorting: the order of glibc's calls of compare.
void __merge(char *base, size_t count, size_t size, int (*compare)(void *, void *), char *space) {
    size_t half = count / 2, i = 0, j = half, k;
    if (count < 2)
        return;
    __merge(base, half, size, compare, space);
    __merge(base + half * size, count - half, size, compare, space);
    for (k = 0; i < half && j < count; k++)
        if (compare(base + i * size, base + j * size) <= 0)
            memcpy(space + k * size, base + i++ * size, size);
        else
            memcpy(space + k * size, base + j++ * size, size);
    memcpy(space + k * size, base + i * size, (half - i) * size);
    memcpy(base, space, j * size);
}
void qsort(void *base, size_t count, size_t size, int (*compare)(void *, void *)) {
    char *space = malloc(count * size);
    __merge(base, count, size, compare, space);
    free(space);
}

// Numbers.
unsigned __random[34]; // glibc's: an additive feedback of 31 numbers
int __newest = -1;
int rand() {
    if (__newest < 0)
        srand(1);
    __newest = __newest == 30 ? 0 : __newest + 1;
    __random[__newest] += __random[__newest < 3 ? __newest + 28 : __newest - 3];
    return __random[__newest] >> 1;
}
void srand(unsigned seed) {
    int i;
    long number = (int)(seed ? seed : 1);
    for (i = 0; i < 31; i++, number = 16807 * number % 2147483647) {
        number += number < 0 ? 2147483647 : 0;
        __random[i] = number;
    }
    __random[0] = seed ? seed : 1;
    __newest = 2;
    for (i = 0; i < 310; i++)
        rand();
}
int abs(int x) { return x < 0 ? -x : x; }
long labs(long x) { return x < 0 ? -x : x; }
int isnan(double x) { return x != x; }
int isinf(double x) { return (x == HUGE_VAL) - (x == -HUGE_VAL); }
int isfinite(double x) { return x - x == 0; }
int finite(double x) { return isfinite(x); }
double round(double x) {
    double whole = trunc(x);
    return fabs(x - whole) < 0.5 ? whole : whole + (x < 0 ? -1 : 1);
}
float roundf(float x) { return round(x); }
