"""Random fragment shaders in GLSL that both a driver's own compiler and the package accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

WIDTHS = {"float": 1, "vec2": 2, "vec3": 3, "vec4": 4, "int": 1, "bool": 1}
VECTORS = ("float", "vec2", "vec3", "vec4")
LETTERS = ("xyzw", "rgba", "stpq")


@dataclass
class Writer:
    """Writes a shader. given: the types of its varyings and uniforms, by name."""

    random: Random
    given: Mapping[str, str]
    variables: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    inside: int = 0
    count: int = 0

    def shader(self) -> str:
        lines = [
            f"    {line}" for _ in range(self.random.randint(3, 9)) for line in self.statement()
        ]
        colour = self.expression("vec4", 3)
        declared = [
            f"{'uniform' if name[0] == 'u' else 'varying'} {kind} {name};"
            for name, kind in self.given.items()
        ]
        return "\n".join([
            "#version 120", *declared, *self.functions, "void main() {", *lines,
            f"    gl_FragColor = {colour};", "}",
        ])  # fmt: skip

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    # Statements -----------------------------------------------------------------------------------

    def statement(self, depth: int = 2) -> list[str]:
        choice = self.random.random()
        mutable = [name for name, kind in self.variables.items() if kind != "bool"]
        if choice < 0.35 or not mutable:
            return self.declaration()
        if choice < 0.65 or not depth:
            return [self.assignment(self.random.choice(mutable))]
        return self.branch(depth) if choice < 0.85 else self.loop()

    def declaration(self) -> list[str]:
        kind = self.random.choice(("float", "vec2", "vec3", "vec4", "vec4", "int", "bool"))
        name, value = self.name(), self.expression(kind, 3)
        if not self.inside:
            self.variables[name] = kind
        return [f"{kind} {name} = {value};"]

    def assignment(self, name: str) -> str:
        kind = self.variables[name]
        width, target = WIDTHS[kind], name
        if width > 1 and self.random.random() < 0.4:
            letters = self.random.choice(LETTERS)[:width]
            chosen = self.random.sample(letters, self.random.randint(1, width))
            target, kind = f"{name}.{''.join(chosen)}", VECTORS[len(chosen) - 1]
        operator = self.random.choice(("=", "=", "+=", "-=", "*="))
        return f"{target} {operator} {self.expression(kind, 2)};"

    def branch(self, depth: int) -> list[str]:
        lines = [f"if ({self.expression('bool', 2)}) {{"]
        self.inside += 1
        for end in ("} else {", "}"):
            for _ in range(self.random.randint(1, 2)):
                lines += [f"    {line}" for line in self.statement(depth - 1)]
            lines.append(end)
        self.inside -= 1
        return lines

    def loop(self) -> list[str]:
        """A loop that may be left early."""
        mutable = [name for name, kind in self.variables.items() if kind not in ("bool", "int")]
        if not mutable:
            return self.declaration()
        own, name, trips = self.random.choice(mutable), self.name(), self.random.randint(1, 4)
        first = own if self.variables[own] == "float" else f"{own}.x"
        return [
            f"for (int {name} = 0; {name} < {trips}; {name}++) {{",
            f"    if ({first} > {self.random.choice((1.0, 2.5, 4.0))}) break;",
            f"    {own} += float({name}) * {self.random.choice((0.25, 0.5, 1.0, -0.5))};",
            "}",
        ]

    # Expressions ----------------------------------------------------------------------------------

    def expression(self, kind: str, depth: int) -> str:
        makers = [self.leaf]
        if depth and kind == "bool":
            makers = [self.comparison, self.logic, self.leaf]
        elif depth and kind == "int":
            makers = [self.arithmetic, self.conversion, self.leaf]
        elif depth:
            makers = [self.arithmetic, self.arithmetic, self.choice, self.called, self.leaf]
            makers += [self.constructed, self.swizzled] + [self.product] * (kind != "float")
        return self.random.choice(makers)(kind, depth - 1)

    def leaf(self, kind: str, _: int) -> str:
        known = [n for n, own in (*self.variables.items(), *self.given.items()) if own == kind]
        if known and self.random.random() < 0.8:
            return self.random.choice(known)
        if kind == "bool":
            return self.random.choice(("true", "false"))
        if kind == "int":
            return f"({self.random.randint(-1, 3)})"
        numbers = [
            str(self.random.choice((0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.75)))
            for _ in range(WIDTHS[kind])
        ]
        return f"{kind if kind != 'float' else ''}({', '.join(numbers)})"

    def arithmetic(self, kind: str, depth: int) -> str:
        operator = self.random.choice("+-*" if kind == "int" else "+-*/")
        smears = kind.startswith("vec") and self.random.random() < 0.3
        a, b = self.expression(kind, depth), self.expression("float" if smears else kind, depth)
        sign = "-" * (self.random.random() < 0.2 and kind != "int")
        return f"({sign}({a}) {operator} {b})"

    def choice(self, kind: str, depth: int) -> str:
        a, b = (self.expression(kind, depth) for _ in range(2))
        return f"({self.expression('bool', depth)} ? {a} : {b})"

    def comparison(self, _: str, depth: int) -> str:
        of = self.random.choice(("float", "int", "vec2", "vec3"))
        signs = ("==", "!=") if of.startswith("vec") else ("<", ">", "<=", ">=", "==", "!=")
        a, b = (self.expression(of, depth) for _ in range(2))
        return f"({a} {self.random.choice(signs)} {b})"

    def logic(self, kind: str, depth: int) -> str:
        a, b = (self.expression(kind, depth) for _ in range(2))
        operator = self.random.choice(("&&", "||", "^^", "!"))
        return f"(!{a})" if operator == "!" else f"({a} {operator} {b})"

    def conversion(self, _: str, depth: int) -> str:
        return f"int(clamp({self.expression('float', depth)}, -1000.0, 1000.0))"

    def constructed(self, kind: str, depth: int) -> str:
        if kind == "float":
            return f"float({self.expression(self.random.choice(('int', 'bool')), depth)})"
        parts, left = [], WIDTHS[kind]
        while left:
            width = self.random.randint(1, min(left, 3))
            parts.append(self.expression(VECTORS[width - 1], depth))
            left -= width
        return parts[0] if len(parts) == 1 else f"{kind}({', '.join(parts)})"

    def swizzled(self, kind: str, depth: int) -> str:
        of = self.random.choice(VECTORS[1:])
        letters = self.random.choice(LETTERS)[: WIDTHS[of]]
        chosen = (self.random.choice(letters) for _ in range(WIDTHS[kind]))
        return f"({self.expression(of, depth)}).{''.join(chosen)}"

    def product(self, kind: str, depth: int) -> str:
        """A matrix of columns times a vector, or a vector times one."""
        columns = ", ".join(self.expression(kind, 0) for _ in range(WIDTHS[kind]))
        both = [f"mat{WIDTHS[kind]}({columns})", self.expression(kind, depth)]
        self.random.shuffle(both)
        return f"({' * '.join(both)})"

    def called(self, kind: str, depth: int) -> str:
        """A call of a library function as exact as an operator, or of a function of its own."""
        a, b = self.expression(kind, depth), self.expression(kind, depth)
        if self.random.random() < 0.2:
            name = f"f{len(self.functions)}"
            self.functions += [
                f"{kind} {name}(in {kind} a, inout {kind} b) {{ b += a; return b * a; }}",
                f"{kind} {name}({kind} a, const {kind} b, bool c) "
                f"{{ {kind} d = b; return {name}(a, d); }}",
            ]
            return f"{name}({a}, {b}, true)"
        one, two = ("abs", "floor"), ("max", "min", "step")
        name = self.random.choice(one + two)
        return f"{name}({a})" if name in one else f"{name}({a}, {b})"
