"""The host's C: what programs print is what GCC 12's programs print (x86-64, -O0 -fwrapv -lm)."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from gpgpu_legacy.api.host import library, memory, program
from gpgpu_legacy.api.host.library import printed
from gpgpu_legacy.api.host.program import BrookRun, run_brook
from gpgpu_legacy.errors import GpgpuLegacyError


@pytest.fixture
def run(tmp_path: Path) -> object:
    def run_text(text: str, *arguments: str, **how: object) -> BrookRun:
        path = tmp_path / "p.br"
        path.write_text(text)
        return run_brook(path, *arguments, **how)

    return run_text


PRINTED = {
    "integers": (
        r"""
        int i, j; unsigned int u = 3000000000u; short sh = 40000; char ch = 200;
        unsigned char uc = 300; long long ll = 1LL << 40; unsigned short us = 65535;
            int big = 2147483647;
        printf("%d %u %d %d %d %lld %d\n", big + 1, u * 2, sh, ch, uc, ll, us + 1);
        printf("%d %d %d %d\n", -7 / 2, -7 % 2, 7 / -2, 7 % -2);
        printf("%d %d %u %u\n", -8 >> 1, 1 << 31, u >> 3, ~0u >> 28);
        printf("%d %d\n", -1 < 1u, (int)(-1 < (long long)1u));
        i = 1664525;
        for (j = 0; j < 5; j++) { i = i * 1103515245 + 12345; printf("%d ", i); }
        ch = 127; ch++; us++; uc -= 100; printf("%d %d %d\n", ch, us, uc);
        u = 5; u -= 10; printf("%u %d\n", u, u > 0);
        { char q = -1; unsigned w = q; unsigned char by = -5;
            printf("%u %d %d\n", w, by, q == 255); }
        { int a = 7, b = a << 2 | 1, c = b & 0xF ^ 3; a <<= 3; a |= 1; a ^= 0x10; a %= 13;
          printf("%d %d %d\n", a, b, c); }
        """,
        "-2147483648 1705032704 -25536 -56 44 1099511627776 65536\n-3 -1 -3 1\n"
        "-4 -2147483648 375000000 15\n0 1\n"
        "49715650 -1813724205 -1270621424 -335325687 1436061710 -128 0 200\n4294967291 1\n"
        "4294967295 251 0\n2 29 14\n",
    ),
    "floats": (
        r"""
        float f = 0.1f, g = 1.0f / 3; double d = 0.1; float z = 0; unsigned long ul = 1UL << 63;
        printf("%.9g %.9g %.17g %.9g\n", f + g, f * g, d + f, f / 3);
        printf("%d %d\n", f == 0.1, f + 0.2f == 0.3f);
        f = 16777216; f += 1; printf("%f\n", f);
        f = 1e30f; f *= 1e30f; printf("%f %f %f %f\n", f, -f, f - f, 1 / -z); d = 0.0;
            printf("%g\n", -d);
        printf("%d %u %ld %d\n", (int)3.99, (unsigned)3.5f, (long)-2.7, (int)1e10);
        printf("%g %lu %f\n", (float)(double)1e10, ul, (double)ul);
        f = (float)7 / 2; printf("%g %g %.9g\n", f, f / 2, 2 * f * 0.1);
        printf("%.3f %.3f %.3f %.3f %g %g %g\n", floor(-2.5), fmod(-7.5, 2), pow(2, 0.5),
            fabs(-3.5), log(0.0), exp(1.0), sqrtf(2));
        """,
        "0.433333337 0.0333333351 0.20000000149011612 0.0333333351\n0 1\n16777216.000000\n"
        "inf -inf -nan -inf\n-0\n3 3 -2 -2147483648\n"
        "1e+10 9223372036854775808 9223372036854775808.000000\n"
        "3.5 1.75 0.7\n-3.000 -1.500 1.414 3.500 -inf 2.71828 1.41421\n",
    ),
    "pointers": (
        r"""
        int a[5] = {5, 3, 9, 1, 7}, i, k = 12; int *p = a, *q = &a[4]; float grid[12][3];
        char buffer[20] = "hello"; char *s = buffer; V2 c, *pv = &c; int (*rows)[2] = (void *)a;
        qsort(a, 5, sizeof(int), compare); for (i = 0; i < 5; i++) printf("%d ", a[i]);
        printf("%ld %d %d %d\n", (long)(q - p), *p, p[1], rows[1][1]);
        p++; *p++ = 42; (*p)++; p[-1] += 2; printf("%d %d %d\n", a[1], a[2], *(a + 3));
        fill(k, grid); printf("%g %g %lu\n", grid[11][2], *(*(grid + 2) + 1), sizeof grid);
        while (*s) s++; printf("%ld %s\n", (long)(s - buffer), strcat(buffer, " world"));
        printf("%s|%c|%lu\n", strchr(buffer, 'w'), buffer[4], strlen(buffer));
        strncpy(buffer, "xyzzy", 3); printf("%s %d\n", buffer, strcmp("a", "b") < 0);
        c.x = 1; { float *raw = (float *)pv; raw[1] = 77; printf("%g %g\n", c.y, (*pv).x); }
        printf("%g %g %g %lu\n", table[0][1], table[0][3], table[2][0], sizeof table);
        { int *m = (int *)malloc(16), *z = (int *)calloc(3, 4); m[3] = 8; m = (int *)realloc(m, 32);
          printf("%d %d ", m[3], z[2]); memset(m, 255, 12); memcpy(z, m + 1, 8);
              printf("%d %d\n", z[0], z[1]); free(m); }
        """,
        "1 3 5 7 9 4 1 3 7\n44 6 7\n112 21 144\n5 hello world\nworld|o|11\nxyzlo world 1\n77 1\n"
        "2 0 9 48\n8 0 -1 -1\n",
    ),
    "structs": (
        r"""
        V2 a = {1, 2}, b = {.5, .25}, c; struct mixed m, m2[2]; struct node n1, n2, *n; char *bytes;
        c = add(a, b); printf("%g %g %g %g\n", c.x, c.y, a.x, add(c, c).y);
        n1.next = &n2; n2.next = NULL; n1.value = 1; n2.value = 2;
        for (n = &n1; n; n = n->next) printf("%d ", n->value);
        level l = HIGH; uint8_t u = 255; clock_t start = clock(); enum color c2 = RED;
        u += clock() - start + 2; printf("%d %d %d %lu, ", l, u, paint + c2, sizeof(level));
        m.d = 2.5; m.t[1] = 'z'; m2[1] = m; bytes = (char *)&m2[1];
        printf("%g %c %c %lu %lu\n", m2[1].d, m2[1].t[1], bytes[17], sizeof m, sizeof(struct node));
        """,
        "1.5 2.25 1 4.5\n1 2 7 1 5 4, 2.5 z z 24 16\n",
    ),
    "pointers to functions, opaque structs and arrays as types": (
        r"""
        struct rule rules[2] = { {"up", compare, {0, 1}}, {"down", down} };
        order o = compare, *p = &o; int i, a[4] = {3, 1, 2}; Twin t = {{1, 2}, {3, 4}};
        Item *item = NULL; FILE *files[1];
        for (i = 0; i < 2; i++) {
            qsort(a, 4, sizeof *a, rules[i].by); printf("%s %d%d ", rules[i].name, a[0], a[3]);
            printf("%d ", rules[i].by(&a[0], a + 3) * i + (*rules[i].by)(a, a)); }
        item = add_item(item, 5); item = add_item(item, 7); files[0] = stdout;
        printf("%d %g %d ", apply(half, 3) > 1, apply(half, apply(*half, 6)), o == *p && o != down);
        fprintf(files[0], "%d%d %g %lu %d\n", item->n, item->next->n, corner(t), sizeof(Item),
            tolower('A') + !!isdigit('7') * 1000 + !isalpha(32) + toupper(-5));
        """,
        "up 03 0 down 30 -1 1 1.5 1 75 4 16 1093\n",
    ),
    "control": (
        r"""
        int i, j, k;
        for (i = 0; ; i++) { if (i == 2) continue; if (i > 4) break;
          switch (i) { case 0: printf("zero "); case 1: printf("one "); break;
            case 3: { int z = 9; printf("three%d ", z); continue; } default: printf("other ");
                } printf(". "); }
        i = 10; while (i --> 7) printf("%d ", i); do printf("once\n"); while (0);
        printf("%d %d %d %d\n", fib(15), counter(), counter(), BLUE);
        k = (i = 3, j = 4, i * j); printf("%d %d %d %d\n", k, i++ + ++j, i > 2 && j, i ? 7 : 8);
        for (i = 0, j = 10; i < j; i++, j--); printf("%d %d %lu\n", i, j, sizeof(double[3]));
        for (i = 0; i < 3; i++) { int fresh[2] = {i}; fresh[1] += 5;
            printf("%d%d ", fresh[0], fresh[1]); if (i == 1) break; }
        printf("end\n");
        """,
        "zero one . one . three9 other . 9 8 7 once\n610 10 11 6\n12 8 1 7\n5 5 24\n05 15 end\n",
    ),
    "goto": (
        r"""
        int i = 0, j, s = 0;
        again: if (++i < 3) goto again;
        for (i = 0; i < 5; i++) {
            for (j = 0; j < 5; j++) {
                if (j == 2) goto skip;
                if (i == 3) goto out;
                if (j == 4) break;
                s += j; continue;
              skip: s += 100;
                if (i == 1) break;
                if (i == 2) continue;
                s += 1000;
            }
            printf("%d %d %d, ", i, j, s);
        }
        out: switch (s) { case 1: printf("one"); default: if (j == 0) goto end; printf("two"); }
        printf("three"); end: printf("%d\n", s);
        """,
        "0 4 1104, 1 2 1205, 2 4 1309, 1309\n",
    ),
    "formats": (
        r"""
        char out[40], w[10], c; int n, hx, r; float x; double y;
        printf("%5d|%-5d|%05d|%+5d|% d|%5.3d|%x|%#x|%#o|%c|%10.3s|%-8s|%%\n", 42, 42, 42, 42,
            42, 7, 255, 255, 8, 'A', "abcdef", "left");
        printf("%f|%10.2f|%-10.1f|%e|%E|%g|%G|%.0f|%#.0f|%010.3f\n", 3.14159, 2.71828, 1.5,
            12345.678, 0.00012, 1e-5, 1e20, 2.5, 2.0, -3.14159);
        printf("%hhd %hd %ld %hhu %hu %*d %-*d| %.*f\n", 300, 70000, 1L << 40, 300, 70000, 6, 1,
            6, 2, 2, 3.14159);
        n = sprintf(out, "%03d-%s", 7, "x"); printf("%s %d %.0d|%u\n", out, n, 0, -1);
        r = sscanf("12 3.5 -1e3 word x ff", "%d %f %lf %s %c %x", &n, &x, &y, w, &c, &hx);
        printf("%d %d %g %g %s %c %d\n", r, n, x, y, w, c, hx);
        r = sscanf("7,8 abc]", "%d,%d %[^]]", &n, &hx, w); printf("%d %d %d %s ", r, n, hx, w);
        r = sscanf("abc", "%d", &n); printf("%d ", r); r = sscanf("", "%d", &n);
            printf("%d %d %g\n", r, atoi("-42abc"), atof("2.5e1x"));
        """,
        "   42|42   |00042|  +42| 42|  007|ff|0xff|010|A|       abc|left    |%\n"
        "3.141590|      2.72|1.5       |1.234568e+04|1.200000E-04|1e-05|1E+20|2|2.|-00003.142\n"
        "44 4464 1099511627776 44 4464      1 2     | 3.14\n007-x 5 |4294967295\n"
        "6 12 3.5 -1000 word x 255\n3 7 8 abc 0 -1 -42 25\n",
    ),
    "literals": (
        r"""
        int z = 2; printf("%ld %d %ld %d\n", (z - 4294967295L) % 3, -2147483648 < 0, 2147483648 * 2,
            3000000000 > -1);
        printf("%d %d %d %d\n", 0x80000000 > 0, 037777777777 / -1 == 1, 0xFFFFFFFFL > -1, 1u > -1);
        printf("%d %d %d %lu %lu\n", '\xff', '\377' < 0, 'a', sizeof(0x7fffffffff), sizeof 1.5f);
        printf("%.9g %.9g\n", 16777217.0000000001f, 1.00000017881393432617f);
        """,
        "-1 1 4294967296 1\n"
        "1 1 1 0\n"
        "-1 1 97 8 4\n"
        "16777218 1.00000012\n",
    ),
    "conversions": (
        r"""
        double d = 1e19, big = 1e30, nan = 0 * (big * 1e300); long n = 9007199791611905L;
        unsigned long u = ~0ul; float f = n, g = 1.5e19f; bool b = 5, c = 256; unsigned char uc = d;
        printf("%lu %lu %.1f %.1f\n", (unsigned long)d, (unsigned long)g, f, (float)u);
        printf("%d %d %lu %u %ld\n", (int)big, (char)d, (unsigned long)big, (unsigned)d, (long)nan);
        printf("%d %d %d %d %d %d\n", b, c, (bool)0.5, (bool)&b, b + c, uc);
        b = 0; b--; c += 255; printf("%d %d %lu\n", b, c, sizeof(1 ? b : (short)1));
        switch (n) { case 9007199791611905L: printf("long\n"); }
        """,
        "10000000000000000000 15000000520515485696 9007200328482816.0 18446744073709551616.0\n"
        "-2147483648 0 0 0 -9223372036854775808\n"
        "1 1 1 1 2 0\n"
        "1 1 4\n"
        "long\n",
    ),
    "scanning": (
        r"""
        int a, b, c, d, r; unsigned u; short h; char t[12] = {0}; float f;
        r = sscanf("012 0x1F 012 -77", "%i %x %d %o", &a, &b, &c, &d);
        printf("%d %d %d %d %d\n", r, a, b, c, d);
        r = sscanf("99999999999 -1 70000 16777217.0000000001", "%d %u %hd %f", &a, &u, &h, &f);
        printf("%d %d %u %d %.9g\n", r, a, u, h, f); sscanf("16909060", "%d", t + 1);
        printf("%d %d %d %d\n", t[0], t[1], t[4], sscanf("08", "%i%d", &a, &b));
        """,
        "4 10 31 12 -63\n"
        "4 1215752191 4294967295 4464 16777218\n"
        "0 4 1 2\n",
    ),
    "rand": (
        r"""
        int i, j; i = rand(); j = rand(); printf("%d %d %d\n", i, j, rand());
        srand(4294967295u); printf("%d\n", rand());
        srand(42); for (i = 0; i < 1000; i++) rand(); printf("%d\n", rand());
        """,
        "1804289383 846930886 1681692777\n254925627\n1963050744\n",
    ),
}  # fmt: skip

COMMON = r"""
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <stdbool.h>
#include <time.h>
enum color { RED, GREEN = 5, BLUE } paint = GREEN;
typedef enum { LOW, HIGH = 7 } level;
typedef struct { float x, y; } V2;
struct node { struct node *next; int value; };
struct mixed { char c; short s; int i; double d; char t[3]; };
static float table[3][4] = { {1, 2}, {5, 6, 7, 8}, 9 };
int compare(const void *a, const void *b) { int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y; }
static int counter(void) { static int n = 10; return n++; }
typedef int (*order)(const void *, const void *);
typedef struct item_s Item;
struct item_s { Item *next; int n; };
typedef struct rule { char *name; order by; int more[2]; } rule;
typedef float Twin[2][2];
static int down(const void *, const void *);
static float corner(Twin t) { return t[1][1]; }
static Item *add_item(Item *next, int n) { Item *i = (Item *)malloc(sizeof(Item)); i->next = next;
    i->n = n; return i; }
static double half(double x) { return x / 2; }
double apply(double (*f)(double), double x) { return f(x); }
static int down(const void *a, const void *b) { return compare(b, a); }
V2 add(V2 a, V2 b) { V2 r; r.x = a.x + b.x; r.y = a.y + b.y; a.x = 99; return r; }
int fib(int n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }
void fill(int n, float a[][3]) { int i, j; for (i = 0; i < n; i++) for (j = 0; j < 3; j++)
    a[i][j] = i * 10 + j; }
"""


@pytest.mark.parametrize("name", PRINTED)
def test_programs_print_what_a_compiled_program_prints(name: str, run) -> None:
    body, expected = PRINTED[name]
    assert run(f"{COMMON}int main() {{ {body} return 7; }}").stdout == expected


def test_printf_formats_as_python_does() -> None:
    flags = ("", "-", "0", "+", " ", "#", "-+")
    for flag, width, kind in product(flags, ("", "3", "12"), "dxXeEfgG"):
        for precision, value in product(("", ".0", ".3", ".10"), (0, 7, -12345, 1048575)):
            if kind in "dxX" and (precision or value < 0 or (kind in "xX" and flag in "+ -+")):
                continue  # where Python's differs from C's
            if flag == "#" and not value and kind in "xX":
                continue
            form = f"%{flag}{width}{precision if kind not in 'dxX' else ''}{kind}"
            expected = form % value
            assert (
                printed(form.encode(), iter([value]), memory.ProgramMemory(), 99).decode()
                == expected
            ), form


def test_a_program_reads_its_arguments_its_folder_and_its_input(tmp_path: Path, run) -> None:
    (tmp_path / "data.txt").write_text("1.5 2.5\nsecond line\n")
    (tmp_path / "here.h").write_text("#define HERE 3\n")
    text = r"""
    #include <sys/time.h>
    #include <here.h>
    #include "brook/stream.h"
    int main(int argc, char **argv) {
        float x, y; char line[80]; int c, sum = 0;
        FILE *file = fopen(argv[1], "r");
        if (!file || fopen("none.txt", "r")) return 9;
        fscanf(file, "%f %f", &x, &y); fgets(line, 80, file); fgets(line, 80, file);
        while ((c = getchar()) != EOF) sum += c;
        fprintf(stderr, "%d %s", argc, argv[2]); printf("%g %s%d %d", x + y, line, feof(file), sum);
        file = fopen(argv[1], "rb"); fread(line, 2, 5, file);
        { struct timeval t = {1, 2}; gettimeofday(&t, NULL); sum = t.tv_sec + t.tv_usec; }
        printf(" %d %d", sum, (int)fwrite(line + 5, 1, fread(line, 1, 80, file) - 6, stdout));
        exit(HERE);
    }
    """
    done = run(text, "data.txt", "x y", stdin=lambda: b"ab")
    assert (done.stdout, done.stderr, done.status) == ("4 second line\n0 195line 0 4", "3 x y", 3)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("int a[3];\n a[3] = 1;", "3:7: this reads or writes outside of an object"),
        ("float *p = 0;\n *p = 1;", "3:5: a null pointer is read or written"),
        ("int *p = (int *)malloc(4);\n free(p);\n printf(\"%d\", *p);", "4:2: the pointer leads"),
        ("int *p = (int *)malloc(4);\n free(p + 1);", "3:2: this cannot be freed"),
        ("char *s = \"text\";\n s[0] = 1;", "3:7: this writes to a string literal"),
        ("int z = 0;\n z = 1 / z;", "3:4: this divides an integer by zero"),
        ("int count;\n cuont = 1;", "3:2: there is no cuont; did you mean count?"),
        ("printff(\"x\");", "2:1: there is no printff; did you mean printf?"),
        ("float4 v;\n v.q = 1;", "3:4: a float4 has no member q"),
        ("fopen(\"p.br\", \"w\");", "2:1: p.br is opened for writing"),
        ("fopen(\"/etc/passwd\", \"r\");", "2:1: /etc/passwd is not in the program's folder"),
        ("fopen(\"../x\", \"r\");", "is not in the program's folder"),
        ("sqrt(1, 2);", "2:1: this takes 1 arguments, not 2"),
        ("int *p = 1.5;", "2:6: double cannot become int *"),
        ("assert(1 == 2);", "2:1: the assertion does not hold"),
        ("printf(\"%d %d\", 1);", "2:1: the format needs more arguments"),
        ("char c[8]; int *p = (int *)(c + 1);", "the pointer's address is no multiple of 4"),
        ("int n = 9; float a[n];", "2:20: this must be known before the program runs"),
        ("int (*f)(int) = NULL;\n f(1);", "3:2: a null pointer is read or written"),
        ("int f = 1;\n f(1);", "3:2: this is no function: int"),
        ("long i = 1L << 30; int a[4], b[4];\n a[i] = 7;", "3:7: this reads or writes outside"),
        ("int a[4], b[4], *p = a, i;\n for (i = 0; i < 80; i++) p = &p[1 << 28];", "outside of"),
        ("int p = 4;\n *(int *)((long)&p + 1) = 5;", "the pointer's address is no multiple of 4"),
        ("void *q = malloc; double (*p)(int) = q;\n p(3);", "3:2: the pointer leads to no func"),
        ("int a[3];\n qsort(a, 3, 4, 0);", "3:2: a null pointer is read or written"),
        ("printf(\"%s\", 1.5);", "2:1: a value or a shape does not fit here"),
        ("float a<4>, b<5>;\n a = b;", "3:4: a value or a shape does not fit here"),
        ("int a[-3];", "2:5: array of int has -12 bytes"),
        ("return 99999999999999999999;", "2:8: this integer has more than 64 bits"),
        ("goto inner; { inner: ; }", "2:1: there is no label inner; goto leads out of blocks"),
    ],
)  # fmt: skip
def test_a_fault_has_its_place_and_says_what_is_wrong(body: str, said: str, run) -> None:
    with pytest.raises(GpgpuLegacyError) as caught:
        run(f"int main() {{\n{body}\nreturn 0; }}")
    assert said in str(caught.value).splitlines()[0]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("for (;;) ;", "takes more than 5000 steps"),
        ("again: goto again;", "takes more than 5000 steps"),
        ("return twice(40);", "takes more than 5000 steps"),
        ("return main();", "more than 300 calls are nested"),
        ("for (;;) malloc(1 << 20);", "is too large; all have"),
        ("for (;;) printf(\"%1000d\", 1);", "prints more than 100000 bytes"),
        ("printf(\"%99999999d\", 1);", "a field wider than"),
        ("char *p = malloc(90000); memset(p, 97, 89999); printf(\"%s%s\", p, p);", "prints more"),
        ("for (;;) fopen(\"p.br\", \"r\");", "is too large; all have"),
        ("for (;;) malloc(0);", "is too large; all have"),
        ("int v[2]; qsort(v, 2, 4, again);", "more than 300 calls are nested"),
        ("return " + "(" * 150 + "1" + ")" * 150 + ";", ""),
    ],
)  # fmt: skip
def test_programs_are_bounded(body: str, said: str, run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "MOST_STEPS", 5000)
    monkeypatch.setattr(program, "MOST_NESTED", 300)
    monkeypatch.setattr(library, "MOST_OUTPUT", 100000)
    monkeypatch.setattr(memory, "MOST_BYTES", 1 << 21)
    twice = "int twice(int n) { return n ? twice(n - 1) + twice(n - 1) : 1; }"
    again = "int again(void *a, void *b) { int v[2]; qsort(v, 2, 4, again); return 0; }"
    text = f"{twice} {again} void f() {{ int a[2000000] = {{1}}; }} int main() {{ {body} }}"
    if said:
        with pytest.raises(GpgpuLegacyError, match=said):
            run(text)
    else:
        assert run(text).status == 1


@pytest.mark.parametrize(
    "body",
    [
        "case 1: ;", "break;", "continue;", "int x = f({1});", "struct A { int a[main]; } b;",
        "goto nowhere;", "const int n = 1; n = 2;", "float4 v; printf(\"%d\", v);", "int *p = &3;",
        "3 = 4;", "main = 4;",
        "float4 a; a = a + a;", "float4 a; a.xy = a.yx;", "float4 a; if (a) ;",
        "char s[4]; sscanf(\"a\", \"%[z-a]\", s);", "int x; x();", "1.5 % 2;", "discard;",
        "int x = main++;", "&main = 0;", "return *main;",
        "int n = 2; struct B { int a[n]; } b;", "struct S { int a[99999][99999]; } s;",
        "int *p; switch (p) { }", "sscanf(\"1\", \"%f\", 2.5);", "float s<4>; s.domain(s, s);",
        "float4 v = float4(1, 2);", "strlen(1);",
    ],
)  # fmt: skip
def test_nonsense_is_one_error(body: str, run) -> None:
    with pytest.raises(GpgpuLegacyError):
        run(f"int main() {{ {body} return 0; }}")
