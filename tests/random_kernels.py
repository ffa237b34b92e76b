"""Random Cg texts: vectors, swizzles, masks, branches, loops, functions, arrays, the library."""

from __future__ import annotations

from random import Random

HEADER = """\
struct Pair { float3 a; float b; };
float twice(float x) { return x * 2.0; }
float3 twice(float3 x) { return x + x; }
float early(float a, float b)
{
    if (a < b) return a;
    if (b > 1.0) { b = b * 0.5; if (a > 2.0) return b; }
    return a - b;
}
void split(float4 v, out float2 low, inout float high) { low = v.xy + high; high = v.w; }
float last(float4 v, float limit)
{
    float best = -1.0;
    for (int i = 0; i < 4; i++) { if (v[i] > limit) continue; best = v[i]; if (best < 0.0) break; }
    return best;
}
float find(float4 v, float x)
{
    for (int i = 0; i < 4; i++) {
        if (v[i] == x) return i + 0.5;
        if (v[i] < -1.0) {
            for (int j = 0; j < 3; j++) { if (x > j) break; x += 0.75; if (x == 1.5) return -x; }
        }
    }
    return x;
}
"""
ONE = ("abs", "ceil", "floor", "frac", "round", "rsqrt", "saturate", "sign", "sqrt")
TWO = ("fmod", "max", "min", "step")
THREE = ("clamp", "lerp", "smoothstep")
NUMBERS = ("0.0", "1.0", "-1.0", "0.5", "2.0", "0.25", "3.0", "-1.5", "0.1", "4.0", "1", "2", "-3")


class Writer:
    """Writes one text. whole: with ints, whose zeros have no sign. open: with loops whose trips
    depend on data.
    """

    def __init__(self, random: Random, *, whole: bool, open: bool = False) -> None:
        self.random, self.whole, self.open = random, whole, open
        self.variables = {"p": 4, "u": 4, "k": 1, "table[0]": 4, "table[2]": 4}
        self.assigned: list[str] = []
        self.count = self.inside = 0

    def text(self) -> str:
        body = [self.declared() for _ in range(2)]
        body += [self.statement(2) for _ in range(self.random.randint(1, 6))]
        if self.random.random() < 0.2:
            body.append(f"    if ({self.condition(1)}) discard;")
        body.append(f"    return {self.value(4, 2)};")
        parameters = (
            "float4 p : TEXCOORD0, uniform float4 u, uniform float k, uniform float4 table[3]"
        )
        main = f"float4 main({parameters}, uniform samplerRECT image) : COLOR"
        return "\n".join([f"{HEADER}{main}", "{", *body, "}", ""])

    # Statements -----------------------------------------------------------------------------------

    def declared(self, indent: str = "    ") -> str:
        self.count += 1
        name, width = f"v{self.count}", self.random.randint(1, 4)
        line = f"{indent}float{width if width > 1 else ''} {name} = {self.value(width, 2)};"
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
                return f"{indent}if ({self.condition(0)}) discard;"
            return self.declared(indent)
        if kind < 5:
            return self.assignment(indent)
        if kind < 7:
            branch = f"{indent}if ({self.condition(1)}) {self.block(depth - 1, deeper)}"
            if self.random.random() < 0.5:
                branch += f" else {self.block(depth - 1, deeper)}"
            return branch
        if kind == 7:
            self.count += 1
            i = f"i{self.count}"
            start = f"{indent}for (int {i} = 0; {i} < {self.random.randint(1, 3)}; {i}++) "
            is_open = self.open and not self.inside
            if is_open:
                start = self.head(i, indent)
            self.inside += is_open
            before = dict(self.variables)
            if self.whole:
                self.variables[i] = 1
            body = self.block(depth - 1, deeper)
            if self.random.random() < 0.4:
                body = body[:1] + f"\n{deeper}if ({self.condition(1)}) break;" + body[1:]
            self.variables = before
            self.inside -= is_open
            return start + body
        return self.piece(kind, indent)

    def head(self, i: str, indent: str) -> str:
        """Of a loop that ends after a few trips, wherever its condition does not hold before."""
        test = f"{i} < {self.random.choice((3, 3, 7, 300))} && {self.condition(0)}"
        if self.random.random() < 0.5:
            return f"{indent}for (float {i} = 0; {test}; {i}++) "
        return f"{indent}float {i} = 0; while ({test} && {i}++ > -1) "

    def piece(self, kind: int, indent: str) -> str:
        self.count += 1
        n = self.count
        wide, b = self.value(4 if kind == 8 else 3, 1), self.value(1, 1)
        if kind == 8:
            self.variables |= {f"t{n}": 2, f"h{n}": 1}
            return f"{indent}float2 t{n}; float h{n} = {b}; split({wide}, t{n}, h{n});"
        self.variables |= {f"s{n}.a": 3, f"s{n}.b": 1}
        mask = self.swizzle(3, self.random.randint(1, 3), distinct=True)
        return f"{indent}Pair s{n}; s{n}.a = {wide}; s{n}.b = {b}; s{n}.a.{mask} *= k;"

    def assignment(self, indent: str) -> str:
        name = self.random.choice(self.assigned)
        width = self.variables[name]
        operator = self.random.choice(("=", "+=", "-=", "*="))
        if width > 1 and self.random.random() < 0.6:
            chosen = self.swizzle(width, self.random.randint(1, width), distinct=True)
            return f"{indent}{name}.{chosen} {operator} {self.value(len(chosen), 2)};"
        return f"{indent}{name} {operator} {self.value(width, 2)};"

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
            return f"{self.random.choice(('any', 'all'))}({self.value(3, 1)} > {self.value(3, 0)})"
        operator = self.random.choice(("<", ">", "<=", ">=", "==", "!="))
        right = "0" if self.random.random() < 0.3 else self.value(1, 1)
        return f"{self.value(1, 1)} {operator} {right}"

    def leaf(self, width: int, _: int = 0) -> str:
        if self.random.random() < 0.2:
            numbers = [self.random.choice(NUMBERS) for _ in range(width)]
            if width == 1:
                return f"({numbers[0]})" if self.whole else f"({float(numbers[0])})"
            return f"float{width}({', '.join(numbers)})"
        name = self.random.choice(list(self.variables))
        own = self.variables[name]
        if own == 1:
            return name if width == 1 else f"float{width}({name})"
        if own == width and self.random.random() < 0.5:
            return name
        return f"{name}.{self.swizzle(own, width)}"

    def value(self, width: int, depth: int) -> str:
        if depth == 0:
            return self.leaf(width)
        choices = [self.sum, self.sum, self.call, self.other, self.special, self.leaf]
        return self.random.choice(choices)(width, depth - 1)

    def sum(self, width: int, depth: int) -> str:
        left = self.value(width, depth)
        right = self.value(self.random.choice((width, width, 1)), depth)
        kind = self.random.randrange(6)
        if kind == 0:
            return f"({left} * 1.0 / {right})"
        if kind == 1:
            return f"({left} * {right} + {self.value(width, depth)})"
        return f"({left} {self.random.choice('+-*')} {right})"

    def call(self, width: int, depth: int) -> str:
        names, count = self.random.choice(((ONE, 1), (TWO, 2), (THREE, 3)))
        values = ", ".join(self.value(width, depth) for _ in range(count))
        return f"{self.random.choice(names)}({values})"

    def other(self, width: int, depth: int) -> str:
        first = self.value(width, depth)
        kind = self.random.randrange(4)
        if kind == 0:
            return f"-({first})"
        if kind == 1 or width == 1:
            return f"({self.condition(0)} ? {first} : {self.value(width, depth)})"
        splits = {2: [(1, 1)], 3: [(2, 1), (1, 2)], 4: [(3, 1), (2, 2)]}[width]
        parts = ", ".join(self.value(part, depth) for part in self.random.choice(splits))
        return f"float{width}({parts})"

    def special(self, width: int, depth: int) -> str:
        v = [self.value(n, depth) for n in range(1, 5)]
        wide = self.random.choice(v[1:])
        forms = {
            1: [
                f"dot({wide}, {wide})", f"dot({v[2]}, {self.value(3, depth)})",
                f"distance({v[3]}, {self.value(4, depth)})", f"length({v[1]})",
                f"early({v[0]}, {self.value(1, depth)})", f"last({v[3]}, {v[0]})",
                f"twice({v[0]})", f"f1texRECT(image, {v[1]})", f"find({v[3]}, {v[0]})",
            ],
            2: [f"{v[3]}.{self.swizzle(4, 2)}", f"normalize({v[1]})"],
            3: [
                f"normalize({v[2]})", f"twice({v[2]})", f"cross({v[2]}, {self.value(3, depth)})",
                f"reflect({v[2]}, {self.value(3, depth)})", f"f3texRECT(image, {v[1]})",
                f"mul({v[2]}, float3x3({v[2]}, {self.value(3, depth)}, {self.leaf(3)}))",
                f"mul(float3x3({v[2]}, {self.leaf(3)}, {self.leaf(3)}), {self.value(3, depth)})",
            ],
            4: [f"f4texRECT(image, {v[1]})", f"normalize({v[3]})"],
        }  # fmt: skip
        if width == 1 and self.whole and self.random.random() < 0.6:
            operator, by = self.random.choice("/%+"), self.random.choice((2, 3, -7, 5))
            return f"((int)({v[0]}) {operator} ({by}))"
        return self.random.choice(forms[width])
