"""Random C programs, whose meaning -fwrapv defines: what they print tells types and conversions."""

from __future__ import annotations

from random import Random

SIGNED = ("char", "signed char", "short", "int", "long", "long long")
UNSIGNED = (
    "unsigned char",
    "unsigned short",
    "unsigned",
    "unsigned long",
    "unsigned long long",
    "bool",
)
FLOATS = ("float", "double")
_BINARY = (*"+-*/%<>&|^?", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||")
TYPES = SIGNED + UNSIGNED + FLOATS

# GCC folds 0.0 - x to -x where x is an int's: so pf prints no sign of a zero.
HEAD = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
void pi(long long x) { printf("%lld\\n", x); }
void pu(unsigned long long x) { printf("%llu\\n", x); }
void pf(double x) { if (x != x) printf("nan\\n"); else printf("%.17g\\n", x ? x : 0.0); }
int descending(const void *a, const void *b) {
    long long x = *(const long long *)a & 15, y = *(const long long *)b & 15;
    return x < y ? 1 : x > y ? -1 : 0;
}
"""


class Writer:
    """Writes one program. variables: lvalues by their code, with their types."""

    def __init__(self, random: Random) -> None:
        self.random, self.lines = random, [HEAD]
        self.variables: dict[str, str] = {}
        self.functions: list[tuple[str, str, list[str]]] = []
        self.depth = self.names = 0

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def name(self) -> str:
        """A new name: some would be Python's, or other languages' types."""
        self.names += 1
        words = "lambda None print self int_ True half fixed uint in_ __debug __builtins def aè"
        return f"{self.one(*words.split())}{self.names}"

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    # Literals -----------------------------------------------------------------------------------

    def number(self) -> int:
        bits = self.random.choice((3, 7, 8, 15, 16, 31, 32, 33, 62, 63))
        edge = self.random.choice((0, 1, 2, (1 << bits) - 1, (1 << bits) - 2))
        return edge if self.chance(30) else self.random.getrandbits(bits)

    def integer(self) -> str:
        number = self.number()
        form = self.one("{}", "{}", "0x{:x}", "0X{:X}", "0{:o}")
        suffix = self.one("", "", "", "u", "U", "l", "L", "ul", "LU", "ll", "LL", "ull", "LLU")
        if self.chance(10):
            return self.one("'a'", "'\\xff'", "'\\0'", "'\\n'", "'\\177'", "'\\''", "'0'")
        return form.format(number) + suffix

    def floating(self) -> str:
        digits = self.one(
            f"{self.random.randrange(1000)}.{self.random.randrange(10**9)}",
            f"{self.random.randrange(100)}.",
            f".{self.random.randrange(1, 10**6)}",
            f"{self.random.uniform(0, 1):.17g}",
            f"{self.random.randrange(2**24, 2**25)}.5",
            f"{self.random.randrange(2**24, 2**25)}.50000000{self.random.randrange(9)}1",
            f"{self.random.randrange(1, 99)}e{self.random.randrange(-30, 30)}",
            f"{self.random.randrange(1, 10**6)}e-44",
            "0.0",
        )
        return digits + ("" if "." in digits or "e" in digits else ".") + self.one("", "f", "F")

    # Expressions: each with whether it is floating ----------------------------------------------

    def lvalue(self, *kinds: str) -> tuple[str, bool]:
        found = [name for name, kind in self.variables.items() if not kinds or kind in kinds]
        if not found:
            return "(0 ? 1 : 2)", False
        code = self.one(*found)
        kind = self.variables[code]
        while "@" in code:
            code = code.replace("@", f"({self.index()})", 1)
        return code, kind in FLOATS

    def index(self) -> str:
        """An index in eight elements."""
        plain = [c for c, kind in self.variables.items() if "@" not in c and kind not in FLOATS]
        code = f"{self.one(*plain)} {self.one('+', '-', '^')} {self.integer()}"
        return self.one(str(self.random.randrange(8)), f"({code}) & 7", f"(unsigned)({code}) % 8u")

    def whole(self, depth: int) -> str:
        """An integer's code."""
        code, floats = self.expression(depth)
        return (
            f"({self.one('int', 'long', 'unsigned char')})({self.live(code)})" if floats else code
        )

    def live(self, code: str) -> str:
        """The same with a variable, so that no compiler computes what C leaves undefined."""
        return f"zero + ({code})"

    def expression(self, depth: int) -> tuple[str, bool]:
        if depth <= 0 or self.chance(10):
            if self.chance(55) and self.variables:
                return self.lvalue()
            return (self.floating(), True) if self.chance(30) else (self.integer(), False)
        make = self.random.choice(
            (self.binary,) * 6 + (self.bits,) * 3 + (self.unary,) * 2 + (self.cast,) * 3
            + (self.choice, self.comparison, self.comparison, self.size, self.call, self.call)
        )  # fmt: skip
        return make(depth - 1)

    def binary(self, depth: int) -> tuple[str, bool]:
        (a, x), (b, y) = self.expression(depth), self.expression(depth)
        operator = self.one(*"+-*/")
        if operator == "/" and not (x or y):
            b = f"({b} & 15 | 1)"
        return f"({a} {operator} {b})", x or y

    def bits(self, depth: int) -> tuple[str, bool]:
        a, b = self.whole(depth), self.whole(depth)
        operator = self.one("&", "|", "^", "<<", ">>", "%")
        b = {"%": f"({b} & 63 | 1)", "<<": f"({b} & 31)", ">>": f"({b} & 31)"}.get(operator, b)
        return f"({a} {operator} {b})", False

    def unary(self, depth: int) -> tuple[str, bool]:
        operator = self.one("-", "+", "~", "!")
        if operator == "~":
            return f"(~{self.whole(depth)})", False
        code, floats = self.expression(depth)
        return f"({operator} {code})", floats and operator != "!"

    def cast(self, depth: int) -> tuple[str, bool]:
        kind = self.one(*TYPES)
        code, floats = self.expression(depth)
        return f"({kind})({self.live(code) if floats else code})", kind in FLOATS

    def choice(self, depth: int) -> tuple[str, bool]:
        (a, _), (b, x), (c, y) = (self.expression(depth) for _ in range(3))
        return f"({a} ? {b} : {c})", x or y

    def comparison(self, depth: int) -> tuple[str, bool]:
        (a, _), (b, _) = self.expression(depth), self.expression(depth)
        return f"({a} {self.one('<', '>', '<=', '>=', '==', '!=', '&&', '||')} {b})", False

    def size(self, depth: int) -> tuple[str, bool]:
        return f"({self.one('', '(int)', '-')}sizeof({self.expression(depth)[0]}))", False

    def call(self, depth: int) -> tuple[str, bool]:
        if not self.functions:
            return self.unary(depth)
        name, result, parameters = self.random.choice(self.functions)
        given = []
        for kind in parameters:
            code, floats = self.expression(depth)
            given.append(self.live(code) if floats and kind not in FLOATS else code)
        return f"{name}({', '.join(given)})", result in FLOATS

    def condition(self, depth: int) -> str:
        """An #if's expression."""
        if depth == 0:
            return self.one(self.integer(), self.integer(), "defined(HERE)", "NOWHERE")
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        operator = self.one(*_BINARY)
        if operator == "?":
            return f"({self.condition(depth - 1)} ? {a} : {b})"
        b = f"(({b}) & 7 | 1)" if operator in {"/", "%", "<<", ">>"} else b
        return f"{self.one('', '-', '~', '!', '+ ')}({a}) {operator} ({b})"

    # Statements ---------------------------------------------------------------------------------

    def as_kind(self, kind: str, depth: int = 3) -> str:
        """An expression that a variable of a type may become."""
        code, floats = self.expression(depth)
        return self.live(code) if floats and kind not in FLOATS else code

    def statement(self, depth: int) -> None:
        make = self.random.choice(
            (self.assign,) * 5 + (self.compound,) * 4 + (self.step,) * 2 + (self.show,) * 3
            + (self.branch, self.loop, self.switch) * (depth > 0) + (self.scan, self.write)
        )  # fmt: skip
        make(depth - 1)

    def block(self, depth: int) -> None:
        self.depth += 1
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth)
        self.depth -= 1
        self.emit("}")

    def target(self) -> tuple[str, str]:
        name = self.one(*(name for name in self.variables if name != "zero"))
        code = name
        while "@" in code:
            code = code.replace("@", f"({self.index()})", 1)
        return code, self.variables[name]

    def assign(self, _: int) -> None:
        code, kind = self.target()
        self.emit(f"{code} = {self.as_kind(kind)};")

    def compound(self, _: int) -> None:
        code, kind = self.target()
        operator = self.one("+=", "-=", "*=", "/=", "&=", "|=", "^=", "<<=", ">>=", "%=")
        if kind in FLOATS or operator in {"+=", "-=", "*="}:
            operator = operator if operator in {"+=", "-=", "*=", "/="} else "+="
            value = self.expression(3)[0]
            self.emit(f"{code} {operator} {value if operator != '/=' else f'(({value}) + 1.5)'};")
            return
        value = self.whole(3)
        if operator in {"/=", "%="}:
            value = f"({value} & 31 | 1)"
        self.emit(f"{code} {operator} {f'({value}) & 7' if operator[0] in '<>' else value};")

    def step(self, _: int) -> None:
        code, kind = self.target()
        step = self.one(f"{code}++", f"{code}--", f"++{code}", f"--{code}")
        if kind == "bool":
            step = f"{code}++"
        elif self.chance(50):
            other, kind = self.target()
            if other.split("[")[0] != code.split("[")[0] and "@" not in self.variables:
                self.emit(f"{self.result(kind)}({step});")
                return
        self.emit(f"{step};")

    @staticmethod
    def result(kind: str) -> str:
        return "pf" if kind in FLOATS else "pu" if kind in UNSIGNED else "pi"

    def show(self, _: int) -> None:
        code, floats = self.expression(3)
        self.emit(f"{'pf' if floats else self.one('pi', 'pu')}({code});")

    def branch(self, depth: int) -> None:
        self.emit(f"if ({self.expression(2)[0]}) {{")
        self.block(depth)
        if self.chance(50):
            self.emit("else {")
            self.block(depth)

    def loop(self, depth: int) -> None:
        name, trips = self.name(), self.random.randrange(1, 5)
        kind = self.one("int", "unsigned char", "long", "short")
        form = self.one("for", "while", "do", "down")
        self.emit(f"{{ {kind} {name} = {trips if form == 'down' else 0};")
        head = {
            "for": f"for ({name} = 0; {name} < {trips}; {name}++) {{",
            "down": f"for (; {name}-- > 0; ) {{",
            "while": f"while ({name}++ < {trips}) {{",
            "do": "do {",
        }
        self.emit(head[form])
        self.depth += 1
        if self.chance(30):
            self.emit(f"if ({name} == {self.random.randrange(4)}) {self.one('break', 'continue')};")
        self.depth -= 1
        if form == "do":
            self.lines[-1] = self.lines[-1].replace("continue", "break")
            self.block(depth)
            self.lines[-1] += f" while (++{name} < {trips});"
        else:
            self.block(depth)
        self.emit("}")

    def switch(self, depth: int) -> None:
        self.emit(f"switch ({self.whole(2)} & 3) {{")
        for label in self.random.sample(("case 0:", "case 'b' - 'a':", "case 0x2:", "default:"), 3):
            self.emit(label)
            self.depth += 1
            self.statement(0)
            if self.chance(60):
                self.emit("break;")
            self.depth -= 1
        self.emit("}")

    def scan(self, _: int) -> None:
        formats = {
            "int": ("%d", "%i"), "unsigned": ("%u", "%x", "%o"), "short": ("%hd", "%hi"),
            "signed char": ("%hhd",), "unsigned char": ("%hhu", "%hhx"), "long": ("%ld", "%li"),
            "unsigned long": ("%lu", "%lx"), "float": ("%f", "%e"), "double": ("%lf", "%lg"),
            "long long": ("%lld",), "unsigned long long": ("%llu",), "unsigned short": ("%hu",),
        }  # fmt: skip
        code, kind = self.target()
        if kind not in formats:
            return
        number = self.random.choice((self.number(), self.number() << 40, -self.number()))
        text = self.one(str(number), f"{number:#x}", f"0{abs(number):o}", f"{number}.5e3", " -12x")
        if kind in FLOATS:
            text = self.floating().rstrip("fF")
        form = self.one(*formats[kind])
        self.emit(f'pi(sscanf("{text}", "{form}", &{code}));')

    def write(self, _: int) -> None:
        width = self.one("", "", "3", "9", "25")
        precision = self.one("", "", ".0", ".3", ".12")
        form = self.one("d", "i", "u", "x", "X", "o", "c", "e", "f", "g", "E", "G", "s")
        flags = {"s": "-", "c": "-", "u": "-0", "x": "-#0", "X": "-#0", "o": "-#0"}.get(
            form, "-+ 0"
        )
        flags = "".join(self.random.sample(flags, self.random.randrange(len(flags))))
        if form in "efgEG":
            code = f"(({self.as_kind('double', 2)}) * 0.001)"
            self.emit(f"if ({code} == {code})")
            self.emit(f'    printf("|%{flags}{width}{precision}{form}|\\n", {code});')
            return
        size = "" if form in "cs" else self.one("hh", "h", "", "l", "ll")
        cast = {"": "int", "h": "int", "hh": "int", "l": "long", "ll": "long long"}[size]
        if form in "uxXo":
            cast = f"unsigned {cast}"
        code = f"({cast})({self.as_kind(cast, 2)})"
        if form == "s":
            code = self.one('"text"', '""', '"a longer text"')
        if form == "c":
            code, precision = f"('a' + ({code} & 15))", ""
        self.emit(f'printf("|%{flags}{width}{precision}{size}{form}|\\n", {code});')

    # Declarations -------------------------------------------------------------------------------

    def declare(self, *, is_global: bool) -> None:
        kind, name = self.one(*TYPES), self.name()
        form = self.one("plain", "plain", "plain", "array", "table", "pointer")
        constant = (self.floating if kind in FLOATS else self.integer)()
        static = self.one("", "static ")
        if form == "plain" or (form == "pointer" and is_global):
            value = constant if is_global or static else self.as_kind(kind, 2)
            self.emit(f"{static}{kind} {name} = {value};")
            self.variables[name] = kind
        elif form == "array":
            values = ", ".join(
                (self.floating if kind in FLOATS else self.integer)()
                for _ in range(self.random.randrange(1, 8))
            )
            self.emit(f"{static}{kind} {name}[8] = {{{values}}};")
            self.variables[f"{name}[@]"] = self.variables[f"(*({name} + @))"] = kind
        elif form == "table":
            self.emit(f"{static}{kind} {name}[8][8] = {{{{{constant}}}, {{1, {constant}}}}};")
            self.variables[f"{name}[@][@]"] = kind
        else:
            self.emit(f"{kind} {name}_of[9] = {{1, {constant}}}, *{name} = {name}_of + 1;")
            for code in (f"(*{name})", f"{name}[@]", f"@[{name}]", f"(*(&{name}_of[8] - @))"):
                self.variables[code] = kind

    def struct(self) -> None:
        tag, kinds = self.name(), [self.one(*TYPES) for _ in range(self.random.randrange(1, 5))]
        fields = " ".join(f"{kind} m{n};" for n, kind in enumerate(kinds))
        inner = self.one(*TYPES)
        self.emit(f"struct {tag}_i {{ {inner} a[8]; }};")
        self.emit(f"struct {tag} {{ {fields} struct {tag}_i in; }};")
        self.emit(f"struct {tag} {tag}_g, {tag}_a[8];")
        self.emit(f"struct {tag} {tag}_f(struct {tag} x, int n) {{")
        self.emit(f"    x.m0 = n; x.in.a[n & 7] = n; return n > 0 ? {tag}_f(x, n / 2) : x; }}")
        for base in (f"{tag}_g.", f"{tag}_a[@].", f"(&{tag}_g)->", f"({tag}_a + @)->"):
            for n, kind in enumerate(kinds):
                self.variables[f"{base}m{n}"] = kind
            self.variables[f"{base}in.a[@]"] = inner
        self.structs.append(tag)

    structs: list[str]

    def function(self) -> None:
        result, kinds = self.one(*TYPES), [self.one(*TYPES) for _ in range(2)]
        name, a, b, local = (self.name() for _ in range(4))
        outer, self.variables = self.variables, {a: kinds[0], b: kinds[1], "zero": "int"}
        self.emit(f"{result} {name}({kinds[0]} {a}, {kinds[1]} {b}) {{")
        self.depth += 1
        kind = self.one(*TYPES)
        self.emit(f"{kind} {local} = {self.as_kind(kind, 2)};")
        self.variables[local] = kind
        for _ in range(2):
            self.random.choice((self.assign, self.compound))(0)
        self.emit(f"return {self.as_kind(result)};")
        self.depth -= 1
        self.emit("}")
        self.variables = outer
        self.functions.append((name, result, kinds))

    def program(self) -> str:
        self.structs = []
        self.emit("#define HERE 1")
        for number in range(3):
            self.emit(f"#if {self.condition(3)}\nint c{number} = 1;\n#else\nint c{number};\n#endif")
            self.variables[f"c{number}"] = "int"
        self.emit("int zero;")
        self.variables["zero"] = "int"
        for _ in range(self.random.randrange(2, 5)):
            self.declare(is_global=True)
        self.struct()
        for _ in range(self.random.randrange(4)):
            self.function()
        self.emit("int main() {")
        self.depth = 1
        self.emit("long long sorted[12] = {9, -3, 77, 1 << 20, 5, 21, 37, 53, -1, 0, 16}; int i;")
        for _ in range(self.random.randrange(2, 6)):
            self.declare(is_global=False)
        for _ in range(self.random.randrange(5, 15)):
            self.statement(2)
        for tag in self.structs:
            self.emit(f"{tag}_a[3] = {tag}_f({tag}_g, 9); {tag}_g = {tag}_f({tag}_a[3], c0);")
            self.emit(f"pu(sizeof(struct {tag})); pu({tag}_f({tag}_g, 5).in.a[5] != 0);")
        self.emit("qsort(sorted, 12, sizeof *sorted, descending);")
        self.emit("for (i = 0; i < 12; i++) pi(sorted[i]);")
        for code, kind in self.variables.items():
            self.emit(f"{self.result(kind)}({code.replace('@', '5')});")
        self.emit("return 0;")
        self.depth = 0
        self.emit("}")
        return "\n".join(self.lines) + "\n"


def random_program(random: Random) -> str:
    """A program that prints what it computes, and ends."""
    return Writer(random).program()
