"""Random kernels: vectors, swizzles, masks, branches, loops, functions, arrays, the library.

The same kernel is written in Cg, GLSL and Brook, and in C99 with the functions of kernel_library.h.
The C version gives the expected results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

HEADER = """\
struct Pair { float3 a; float b; };
FUNCTION float twice(float x) { return x * 2.0; }
FUNCTION float3 twice(float3 x) { return x + x; }
FUNCTION float early(float a, float b)
{
    if (a < b) return a;
    if (b > 1.0) { b = b * 0.5; if (a > 2.0) return b; }
    return a - b;
}
FUNCTION void split(float4 v, out float2 low, inout float high)
{
    low = v.xy + high; high = v.w;
}
FUNCTION float last(float4 v, float limit)
{
    float best = -1.0;
    for (int i = 0; i < 4; i++) { if (v[i] > limit) continue; best = v[i]; if (best < 0.0) break; }
    return best;
}
FUNCTION float find(float4 v, float x)
{
    for (int i = 0; i < 4; i++) {
        if (v[i] == x) return float(i) + 0.5;
        if (v[i] < -1.0) {
            for (int j = 0; j < 3; j++) {
                if (x > float(j)) break;
                x += 0.75;
                if (x == 1.5) return -x;
            }
        }
    }
    return x;
}
"""
ONE = ("abs", "ceil", "floor", "frac", "round", "rsqrt", "saturate", "sign", "sqrt")
TWO = ("fmod", "max", "min", "step")
THREE = ("clamp", "lerp", "smoothstep")
NUMBERS = ("0.0", "1.0", "-1.0", "0.5", "2.0", "0.25", "3.0", "-1.5", "0.1", "4.0", "1", "2", "-3")


class Cg:
    """The spelling of a kernel in Cg; other languages override what they spell otherwise."""

    vector = "float"
    names: Mapping[str, str] = {}
    discard = "discard;"
    lookup = "f4texRECT(image, {})"
    parameters = "float4 p : TEXCOORD0, uniform float4 u, uniform float k, uniform float4 table[3]"

    def header(self) -> str:
        return HEADER.replace("FUNCTION ", "")

    def main(self, body: list[str], value: str) -> str:
        head = f"float4 main({self.parameters}, uniform samplerRECT image) : COLOR"
        return "\n".join([head, "{", *body, f"    return {value};", "}", ""])

    def kind(self, width: int) -> str:
        return f"{self.vector}{width}" if width > 1 else "float"

    def number(self, text: str, *, whole: bool) -> str:
        return text if whole else str(float(text))

    def counter(self, name: str) -> str:
        """The value of a loop's counter."""
        return name

    def binary(self, operator: str, width: int, a: str, b: str, _: int) -> str:
        return f"({a} * 1.0 / {b})" if operator == "/" else f"({a} {operator} {b})"

    def whole(self, operator: str, value: str, by: int) -> str:
        return f"((int)({value}) {operator} ({by}))"

    def negative(self, _: int, value: str) -> str:
        return f"-({value})"

    def built(self, width: int, *parts: tuple[int, str]) -> str:
        return f"{self.kind(width)}({', '.join(text for _, text in parts)})"

    def swizzled(self, value: str, letters: str) -> str:
        return f"{value}.{letters}"

    def called(self, name: str, _: int, *values: str) -> str:
        return f"{self.names.get(name, name)}({', '.join(values)})"

    def sized(self, name: str, _: int, *values: str) -> str:
        """The call of a function whose result depends on all components."""
        return self.called(name, 0, *values)

    def times(self, v: str, rows: Sequence[str], *, from_left: bool) -> str:
        """The product of a vector and a matrix. from_left: whether the vector is a row."""
        matrix = self.built(3, *((3, row) for row in rows)).replace("3(", "3x3(", 1)
        return f"mul({v}, {matrix})" if from_left else f"mul({matrix}, {v})"

    def looked_up(self, width: int, place: str) -> str:
        return self.lookup.format(place) + f".{'xyzw'[:width]}" * (width < 4)

    def several(self, name: str, a: str, b: str) -> str:
        """Whether any, or all, of three components of `a` are greater than those of `b`."""
        return f"{name}({a} > {b})"

    def declared(self, name: str, width: int, value: str) -> str:
        return f"{self.kind(width)} {name} = {value};"

    def assigned(self, name: str, width: int, operator: str, value: str) -> str:
        return f"{name} {operator} {value};"

    def masked(self, name: str, letters: str, operator: str, value: str) -> str:
        return f"{name}.{letters} {operator} {value};"

    def taken_apart(self, n: int, wide: str, b: str) -> str:
        return f"{self.kind(2)} t{n}; float h{n} = {b}; split({wide}, t{n}, h{n});"

    def loop(self, i: str, trips: int) -> str:
        return f"for (int {i} = 0; {i} < {trips}; {i}++) "


class Glsl(Cg):
    """GLSL: nothing is converted to float implicitly, and matrices are built from columns."""

    vector = "vec"
    names: Mapping[str, str] = {
        "fmod": "mod", "frac": "fract", "lerp": "mix", "rsqrt": "inversesqrt",
    }  # fmt: skip
    lookup = "texture2DRect(image, {})"
    uniforms = "uniform vec4 u; uniform float k; uniform vec4 table[3];"

    def header(self) -> str:
        functions = super().header()
        for width in "234":
            functions = functions.replace(f"float{width}", f"vec{width}")
        return f"{self.uniforms} uniform sampler2DRect image;\n{functions}"

    def main(self, body: list[str], value: str) -> str:
        head = "void main()\n{\n    vec4 p = gl_TexCoord[0], every = u + table[0] * k;"
        return "\n".join([head, *body, f"    gl_FragColor = {value};", "}", ""])

    def number(self, text: str, *, whole: bool) -> str:
        return str(float(text))

    def counter(self, name: str) -> str:
        return f"float({name})"

    def whole(self, operator: str, value: str, by: int) -> str:
        return f"float(int({value}) {operator} ({by}))"

    def called(self, name: str, width: int, *values: str) -> str:
        if name == "saturate":
            return f"clamp({values[0]}, {self.kind(width)}(0.0), {self.kind(width)}(1.0))"
        return super().called(name, width, *values)

    def times(self, v: str, rows: Sequence[str], *, from_left: bool) -> str:
        matrix = f"mat3({', '.join(rows)})"
        return f"({matrix} * {v})" if from_left else f"({v} * {matrix})"

    def several(self, name: str, a: str, b: str) -> str:
        return f"{name}(greaterThan({a}, {b}))"


class Brook(Cg):
    """Brook: a kernel with streams. Gathers round to the nearest element; names are not shared."""

    discard = "{ result = float4(77.0, 77.0, 77.0, 77.0); return; }"
    lookup = "image[{}]"

    def header(self) -> str:
        return HEADER.replace("FUNCTION ", "kernel ").replace("float3 twice", "float3 twice3")

    def called(self, name: str, width: int, *values: str) -> str:
        return super().called("twice3" if (name, width) == ("twice", 3) else name, width, *values)

    def main(self, body: list[str], value: str) -> str:
        tables = ", ".join(f"float4 table{n}" for n in range(3))
        streams = "float4 p<>, float4 image[][], out float4 result<>"
        head = f"kernel void main({streams}, float4 u, float k, {tables})"
        lines = "\n".join([head, "{", *body, f"    result = {value};", "}", ""])
        return re.sub(r"table\[(\d)\]", r"table\1", lines)


class C(Cg):
    """C99, with the functions of kernel_library.h: all vectors are V."""

    discard = "return 1;"
    lookup = "texel(image, {})"

    def header(self) -> str:
        return ""

    def main(self, body: list[str], value: str) -> str:
        head = "static int NAME(V p, V u, float k, const V *table, Image image, V *result)"
        return "\n".join([head, "{", *body, f"    *result = {value};", "    return 0;", "}", ""])

    def kind(self, width: int) -> str:
        return "V" if width > 1 else "float"

    def number(self, text: str, *, whole: bool) -> str:
        return f"{float(text)}f"

    def wide(self, width: int, text: str) -> str:
        return text if width > 1 else f"all({text})"

    def binary(self, operator: str, width: int, a: str, b: str, other: int) -> str:
        if width == 1 and operator != "/":
            return f"({a} {operator} {b})"
        name = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}[operator]
        return f"{name}1({a}, {b})" if width == 1 else f"{name}({a}, {self.wide(other, b)})"

    def whole(self, operator: str, value: str, by: int) -> str:
        name = {"/": "quotient", "%": "remainder_", "+": "total"}[operator]
        return f"{name}1({value}, {by})"

    def negative(self, width: int, value: str) -> str:
        return f"-({value})" if width == 1 else f"negate({value})"

    def built(self, width: int, *parts: tuple[int, str]) -> str:
        if len(parts) == 1:
            return self.wide(*parts[0])
        if len(parts) == width:
            return f"(V){{{', '.join(text for _, text in parts)}}}"
        (first, a), (second, b) = parts
        return f"join({first}, {self.wide(first, a)}, {self.wide(second, b)})"

    def swizzled(self, value: str, letters: str) -> str:
        if len(letters) == 1:
            return f"{value}.{letters}"
        places = ["xyzw".index(letter) for letter in letters] + [0] * (4 - len(letters))
        return f"pick({value}, {', '.join(map(str, places))})"

    def called(self, name: str, width: int, *values: str) -> str:
        return f"{name}_{'1' * (width == 1)}({', '.join(values)})"

    def sized(self, name: str, width: int, *values: str) -> str:
        return f"{name}_({width}, {', '.join(values)})"

    def times(self, v: str, rows: Sequence[str], *, from_left: bool) -> str:
        listed = ", ".join(rows)
        return f"row_times({v}, {listed})" if from_left else f"times_column({listed}, {v})"

    def looked_up(self, width: int, place: str) -> str:
        return super().looked_up(4, place) + ".x" * (width == 1)

    def several(self, name: str, a: str, b: str) -> str:
        return f"{name}_more({a}, {b})"

    def assigned(self, name: str, width: int, operator: str, value: str) -> str:
        if width > 1 and operator != "=":
            value = self.binary(operator[0], width, name, value, width)
            operator = "="
        return f"{name} {operator} {value};"

    def masked(self, name: str, letters: str, operator: str, value: str) -> str:
        if len(letters) == 1:
            return f"{name}.{letters} {operator} {value};"
        parts = (f"{name}.{k} {operator} t.{'xyzw'[n]};" for n, k in enumerate(letters))
        return f"{{ V t = {value}; {' '.join(parts)} }}"

    def taken_apart(self, n: int, wide: str, b: str) -> str:
        return f"V t{n}; float h{n} = {b}; split({wide}, &t{n}, &h{n});"

    def loop(self, i: str, trips: int) -> str:
        return f"for (float {i} = 0; {i} < {trips}; {i}++) "


class Writer:
    """Writes one kernel in a language.

    whole: with ints, whose zeros have no sign. open: with loops whose trips depend on data.
    """

    def __init__(self, random: Random, language: Cg, *, whole: bool, open: bool = False) -> None:
        self.random, self.to, self.whole, self.open = random, language, whole, open
        self.variables = {"p": 4, "u": 4, "k": 1, "table[0]": 4, "table[2]": 4}
        self.assigned: list[str] = []
        self.count = self.inside = 0

    def text(self) -> str:
        body = [self.declared() for _ in range(2)]
        body += [self.statement(2) for _ in range(self.random.randint(1, 6))]
        if self.random.random() < 0.2:
            body.append(f"    if ({self.condition(1)}) {self.to.discard}")
        return self.to.header() + self.to.main(body, self.value(4, 2))

    # Statements -----------------------------------------------------------------------------------

    def declared(self, indent: str = "    ") -> str:
        self.count += 1
        name, width = f"v{self.count}", self.random.randint(1, 4)
        line = indent + self.to.declared(name, width, self.value(width, 2))
        self.variables[name] = width
        self.assigned.append(name)
        return line

    def block(self, depth: int, indent: str) -> str:
        known, assigned = dict(self.variables), list(self.assigned)
        lines = [self.statement(depth, indent) for _ in range(self.random.randint(1, 3))]
        self.variables, self.assigned = known, assigned
        return "\n".join(["{", *lines, f"{indent[4:]}}}"])

    def statement(self, depth: int, indent: str = "    ") -> str:
        kind = self.random.randrange(10)
        deeper = indent + "    "
        if kind < 2 or depth == 0:
            if self.open and self.random.random() < 0.1:
                return f"{indent}if ({self.condition(0)}) {self.to.discard}"
            return self.declared(indent)
        if kind < 5:
            return indent + self.assignment()
        if kind < 7:
            branch = f"{indent}if ({self.condition(1)}) {self.block(depth - 1, deeper)}"
            if self.random.random() < 0.5:
                branch += f" else {self.block(depth - 1, deeper)}"
            return branch
        if kind == 7:
            self.count += 1
            i = f"i{self.count}"
            start = indent + self.to.loop(i, self.random.randint(1, 3))
            is_open = self.open and not self.inside
            if is_open:
                start = self.head(i, indent)
            self.inside += is_open
            before = dict(self.variables)
            if self.whole:
                self.variables[self.to.counter(i)] = 1
            body = self.block(depth - 1, deeper)
            if self.random.random() < 0.4:
                jump = self.random.choice(("break", "break", "continue"))
                body = body[:1] + f"\n{deeper}if ({self.condition(1)}) {jump};" + body[1:]
            self.variables = before
            self.inside -= is_open
            return start + body
        return indent + self.piece(kind)

    def head(self, i: str, indent: str) -> str:
        """The head of a loop that ends after a few trips, unless its condition fails before."""
        most = self.to.number(str(self.random.choice((3, 3, 7, 300))), whole=False)
        test = f"{i} < {most} && {self.condition(0)}"
        if self.random.random() < 0.5:
            return f"{indent}for (float {i} = 0.0; {test}; {i}++) "
        return f"{indent}float {i} = 0.0; while ({test} && {i}++ > -1.0) "

    def piece(self, kind: int) -> str:
        self.count += 1
        n = self.count
        wide, b = self.value(4 if kind == 8 else 3, 1), self.value(1, 1)
        if kind == 8:
            self.variables |= {f"t{n}": 2, f"h{n}": 1}
            return self.to.taken_apart(n, wide, b)
        self.variables |= {f"s{n}.a": 3, f"s{n}.b": 1}
        mask = self.swizzle(3, self.random.randint(1, 3), distinct=True)
        k = "k" if len(mask) == 1 else self.to.built(len(mask), (1, "k"))
        scaled = self.to.masked(f"s{n}.a", mask, "*=", k)
        return f"Pair s{n}; s{n}.a = {wide}; s{n}.b = {b}; {scaled}"

    def assignment(self) -> str:
        name = self.random.choice(self.assigned)
        width = self.variables[name]
        operator = self.random.choice(("=", "+=", "-=", "*="))
        if width > 1 and self.random.random() < 0.6:
            chosen = self.swizzle(width, self.random.randint(1, width), distinct=True)
            return self.to.masked(name, chosen, operator, self.value(len(chosen), 2))
        return self.to.assigned(name, width, operator, self.value(width, 2))

    def swizzle(self, width: int, count: int, *, distinct: bool = False) -> str:
        letters = "xyzw"[:width]
        if distinct:
            return "".join(self.random.sample(letters, count))
        return "".join(self.random.choice(letters) for _ in range(count))

    # Expressions ----------------------------------------------------------------------------------

    def condition(self, depth: int) -> str:
        kind = self.random.randrange(8)
        if kind == 0 and depth:
            operator = self.random.choice(("&&", "||"))
            return f"({self.condition(depth - 1)} {operator} {self.condition(depth - 1)})"
        if kind == 1 and depth:
            return f"!({self.condition(depth - 1)})"
        if kind == 2:
            name = self.random.choice(("any", "all"))
            return self.to.several(name, self.value(3, 1), self.value(3, 0))
        operator = self.random.choice(("<", ">", "<=", ">=", "==", "!="))
        is_zero = self.random.random() < 0.3
        right = self.to.number("0", whole=True) if is_zero else self.value(1, 1)
        return f"{self.value(1, 1)} {operator} {right}"

    def leaf(self, width: int, _: int = 0) -> str:
        if self.random.random() < 0.2:
            numbers = [self.random.choice(NUMBERS) for _ in range(width)]
            whole = self.whole or width > 1
            texts = [self.to.number(number, whole=whole) for number in numbers]
            built = self.to.built(width, *((1, text) for text in texts))
            return f"({texts[0]})" if width == 1 else built
        name = self.random.choice(list(self.variables))
        own = self.variables[name]
        if own == 1:
            return name if width == 1 else self.to.built(width, (1, name))
        if own == width and self.random.random() < 0.5:
            return name
        return self.to.swizzled(name, self.swizzle(own, width))

    def value(self, width: int, depth: int) -> str:
        if depth == 0:
            return self.leaf(width)
        choices = [self.sum, self.sum, self.call, self.other, self.special, self.leaf]
        return self.random.choice(choices)(width, depth - 1)

    def sum(self, width: int, depth: int) -> str:
        left, other = self.value(width, depth), self.random.choice((width, width, 1))
        right = self.value(other, depth)
        kind = self.random.randrange(6)
        if kind == 0:
            return self.to.binary("/", width, left, right, other)
        if kind == 1:
            product = self.to.binary("*", width, left, right, other)
            return self.to.binary("+", width, product, self.value(width, depth), width)
        return self.to.binary(self.random.choice("+-*"), width, left, right, other)

    def call(self, width: int, depth: int) -> str:
        names, count = self.random.choice(((ONE, 1), (TWO, 2), (THREE, 3)))
        values = [self.value(width, depth) for _ in range(count)]
        return self.to.called(self.random.choice(names), width, *values)

    def other(self, width: int, depth: int) -> str:
        first = self.value(width, depth)
        kind = self.random.randrange(4)
        if kind == 0:
            return self.to.negative(width, first)
        if kind == 1 or width == 1:
            return f"({self.condition(0)} ? {first} : {self.value(width, depth)})"
        splits = {2: [(1, 1)], 3: [(2, 1), (1, 2)], 4: [(3, 1), (2, 2)]}[width]
        parts = [(part, self.value(part, depth)) for part in self.random.choice(splits)]
        return self.to.built(width, *parts)

    def special(self, width: int, depth: int) -> str:
        to, v = self.to, [self.value(n, depth) for n in range(1, 5)]
        more = {n: self.value(n, depth) for n in (1, 3, 4)}
        rows = [v[2], self.leaf(3), self.leaf(3)]
        across = self.random.randint(2, 4)
        wide = v[across - 1]
        forms = {
            1: [
                to.sized("dot", across, wide, wide), to.sized("dot", 3, v[2], more[3]),
                to.sized("distance", 4, v[3], more[4]), to.sized("length", 2, v[1]),
                to.called("early", 1, v[0], more[1]), to.called("last", 1, v[3], v[0]),
                to.called("twice", 1, v[0]), to.looked_up(1, v[1]),
                to.called("find", 1, v[3], v[0]),
            ],
            2: [to.swizzled(v[3], self.swizzle(4, 2)), to.sized("normalize", 2, v[1])],
            3: [
                to.sized("normalize", 3, v[2]), to.called("twice", 3, v[2]),
                to.called("cross", 3, v[2], more[3]), to.called("reflect", 3, v[2], more[3]),
                to.looked_up(3, v[1]), to.times(more[3], rows, from_left=True),
                to.times(more[3], rows, from_left=False),
            ],
            4: [to.looked_up(4, v[1]), to.sized("normalize", 4, v[3])],
        }  # fmt: skip
        if width == 1 and self.whole and self.random.random() < 0.6:
            operator, by = self.random.choice("/%+"), self.random.choice((2, 3, -7, 5))
            return to.whole(operator, v[0], by)
        return self.random.choice(forms[width])
