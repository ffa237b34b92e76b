"""Random fragment shaders in GLSL, with what each computes in float32 beside its text.

A value is an array (components, fragments). Text and value are made together, from the
specification: integers as numbers without a fraction, a quotient by way of the reciprocal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
WIDTHS = {"float": 1, "vec2": 2, "vec3": 3, "vec4": 4, "int": 1, "bool": 1}
VECTORS = ("float", "vec2", "vec3", "vec4")
LETTERS = ("xyzw", "rgba", "stpq")
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """An expression: its text, its type, and its numbers."""

    text: str
    kind: str
    numbers: F32


@dataclass
class Variable:
    """A variable, and its numbers now."""

    name: str
    kind: str
    numbers: F32


@dataclass
class Writer:
    """Writes a shader. given: the numbers of its varyings and uniforms, by name."""

    random: Random
    given: dict[str, tuple[str, F32]]
    variables: list[Variable] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    mask: Any = True
    count: int = 0

    def shader(self) -> tuple[str, F32]:
        """The text, and the colour."""
        fragments = next(iter(self.given.values()))[1].shape[1]
        lines = [
            f"    {line}" for _ in range(self.random.randint(3, 9)) for line in self.statement()
        ]
        colour = self.expression("vec4", 3)
        declared = [
            f"{'uniform' if name[0] == 'u' else 'varying'} {kind} {name};"
            for name, (kind, _) in self.given.items()
        ]
        text = "\n".join([
            "#version 120", *declared, *self.functions, "void main() {", *lines,
            f"    gl_FragColor = {colour.text};", "}",
        ])  # fmt: skip
        return text, np.broadcast_to(colour.numbers, (4, fragments)).astype(np.float32)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    # Statements -----------------------------------------------------------------------------------

    def statement(self, depth: int = 2) -> list[str]:
        choice = self.random.random()
        mutable = [v for v in self.variables if v.kind != "bool"]
        if choice < 0.35 or not mutable:
            return self.declaration()
        if choice < 0.65 or not depth:
            return [self.assignment(self.random.choice(mutable))]
        return self.branch(depth) if choice < 0.85 else self.loop(depth)

    def declaration(self) -> list[str]:
        kind = self.random.choice(("float", "vec2", "vec3", "vec4", "vec4", "int", "bool"))
        value = self.expression(kind, 3)
        shape = WIDTHS[kind], next(iter(self.given.values()))[1].shape[1]
        variable = Variable(self.name(), kind, np.broadcast_to(value.numbers, shape).copy())
        text = f"{kind} {variable.name} = {value.text};"
        if self.mask is True:
            self.variables.append(variable)
        return [text]

    def assignment(self, variable: Variable) -> str:
        width = WIDTHS[variable.kind]
        chosen = list(range(width))
        target = variable.name
        if width > 1 and self.random.random() < 0.4:
            chosen = self.random.sample(chosen, self.random.randint(1, width))
            letters = self.random.choice(LETTERS)
            target += "." + "".join(letters[c] for c in chosen)
        kind = variable.kind if width == 1 else VECTORS[len(chosen) - 1]
        value = self.expression(kind, 2)
        operator = self.random.choice(("=", "=", "+=", "-=", "*="))
        before = variable.numbers[chosen]
        after = _operate(operator[0], before, value.numbers) if operator != "=" else value.numbers
        numbers = variable.numbers.copy()
        numbers[chosen] = np.where(self.mask, after, before)
        variable.numbers = numbers
        return f"{target} {operator} {value.text};"

    def branch(self, depth: int) -> list[str]:
        condition = self.expression("bool", 2)
        outer, holds = self.mask, condition.numbers[0] != 0
        lines = [f"if ({condition.text}) {{"]
        for side in (holds, ~holds):
            self.mask = outer & side
            for _ in range(self.random.randint(1, 2)):
                lines += [f"    {line}" for line in self.statement(depth - 1)]
            lines += ["} else {"] if side is holds else ["}"]
        self.mask = outer
        return lines

    def loop(self, depth: int) -> list[str]:
        """A loop whose trips are written out by what they compute; one may leave it early."""
        mutable = [v for v in self.variables if v.kind not in ("bool", "int")]
        if not mutable:
            return self.declaration()
        variable, trips, name = self.random.choice(mutable), self.random.randint(1, 4), self.name()
        step = self.random.choice((0.25, 0.5, 1.0, -0.5))
        limit = self.random.choice((1.0, 2.5, 4.0))
        outer = self.mask
        for trip in range(trips):
            left = variable.numbers[0] > np.float32(limit)
            self.mask = self.mask & ~left
            added = np.float32(trip) * np.float32(step)
            variable.numbers = np.where(self.mask, variable.numbers + added, variable.numbers)
        self.mask = outer
        first = variable.name if variable.kind == "float" else f"{variable.name}.x"
        return [
            f"for (int {name} = 0; {name} < {trips}; {name}++) {{",
            f"    if ({first} > {limit}) break;",
            f"    {variable.name} += float({name}) * {step!r};",
            "}",
        ]

    # Expressions ----------------------------------------------------------------------------------

    def expression(self, kind: str, depth: int) -> Value:
        makers = [self.leaf]
        if depth:
            if kind == "bool":
                makers = [self.comparison, self.logic, self.leaf]
            elif kind == "int":
                makers = [self.arithmetic, self.conversion, self.leaf]
            else:
                makers = [self.arithmetic, self.arithmetic, self.choice, self.called, self.leaf]
                makers += [self.constructed, self.swizzled] + [self.product] * (kind != "float")
        return self.random.choice(makers)(kind, depth - 1)

    def leaf(self, kind: str, _: int) -> Value:
        known = [(v.name, v.numbers) for v in self.variables if v.kind == kind]
        known += [(name, numbers) for name, (k, numbers) in self.given.items() if k == kind]
        if known and self.random.random() < 0.8:
            name, value = self.random.choice(known)
            return Value(name, kind, value)
        if kind == "bool":
            holds = self.random.random() < 0.5
            return Value(str(holds).lower(), kind, np.full((1, 1), holds, np.float32))
        numbers = [
            self.random.choice((0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.75)) for _ in range(WIDTHS[kind])
        ]
        if kind == "int":
            numbers = [float(int(numbers[0]))]
            return Value(f"({int(numbers[0])})", kind, np.float32([numbers]).T)
        text = ", ".join(map(repr, numbers))
        return Value(
            f"({text})" if kind == "float" else f"{kind}({text})", kind, np.float32([numbers]).T
        )

    def arithmetic(self, kind: str, depth: int) -> Value:
        operator = self.random.choice("+-*" if kind == "int" else "+-*/")
        a = self.expression(kind, depth)
        smears = kind.startswith("vec") and self.random.random() < 0.3
        b = self.expression("float" if smears else kind, depth)
        if self.random.random() < 0.2 and kind != "int":
            a = Value(f"-{a.text}" if a.text[0] != "-" else f"-({a.text})", kind, -a.numbers)
        return Value(
            f"({a.text} {operator} {b.text})", kind, _operate(operator, a.numbers, b.numbers)
        )

    def choice(self, kind: str, depth: int) -> Value:
        c, a, b = (
            self.expression("bool", depth),
            self.expression(kind, depth),
            self.expression(kind, depth),
        )
        numbers = np.where(c.numbers != 0, a.numbers, b.numbers)
        return Value(f"({c.text} ? {a.text} : {b.text})", kind, numbers)

    def comparison(self, kind: str, depth: int) -> Value:
        of = self.random.choice(("float", "int", "vec2", "vec3"))
        operator = self.random.choice([*COMPARED] if of in ("float", "int") else ["==", "!="])
        a, b = self.expression(of, depth), self.expression(of, depth)
        each = COMPARED[operator](*np.broadcast_arrays(a.numbers, b.numbers))
        holds = each.any(axis=0) if operator == "!=" else each.all(axis=0)
        return Value(f"({a.text} {operator} {b.text})", kind, holds[None].astype(np.float32))

    def logic(self, kind: str, depth: int) -> Value:
        a, b = self.expression(kind, depth), self.expression(kind, depth)
        operator = self.random.choice(("&&", "||", "^^", "!"))
        x, y = np.broadcast_arrays(a.numbers != 0, b.numbers != 0)
        holds = {"&&": x & y, "||": x | y, "^^": x ^ y, "!": ~x}[operator]
        text = f"(!{a.text})" if operator == "!" else f"({a.text} {operator} {b.text})"
        return Value(text, kind, holds.astype(np.float32))

    def conversion(self, kind: str, depth: int) -> Value:
        value = self.expression("float", depth)
        with np.errstate(all="ignore"):
            limited = np.clip(np.nan_to_num(value.numbers), -1000, 1000)
        return Value(f"int(clamp({value.text}, -1000.0, 1000.0))", kind, np.trunc(limited) + 0)

    def constructed(self, kind: str, depth: int) -> Value:
        if kind == "float":
            value = self.expression(self.random.choice(("int", "bool")), depth)
            return Value(f"float({value.text})", kind, value.numbers)
        parts, left = [], WIDTHS[kind]
        while left:
            width = self.random.randint(1, min(left, 3))
            parts.append(self.expression(VECTORS[width - 1], depth))
            left -= width
        if len(parts) == 1:
            return parts[0]
        fragments = max(p.numbers.shape[1] for p in parts)
        rows = [np.broadcast_to(p.numbers, (WIDTHS[p.kind], fragments)) for p in parts]
        return Value(f"{kind}({', '.join(p.text for p in parts)})", kind, np.concatenate(rows))

    def swizzled(self, kind: str, depth: int) -> Value:
        value = self.expression(self.random.choice(VECTORS[1:]), depth)
        chosen = [self.random.randrange(WIDTHS[value.kind]) for _ in range(WIDTHS[kind])]
        letters = self.random.choice(LETTERS)
        text = "".join(letters[c] for c in chosen)
        base = (
            value.text if value.text[-1] == ")" or value.text.isidentifier() else f"({value.text})"
        )
        base = f"({base})" if base[0] == "-" else base
        whole = np.broadcast_to(value.numbers, (WIDTHS[value.kind], value.numbers.shape[1]))
        return Value(f"{base}.{text}", kind, whole[chosen])

    def product(self, kind: str, depth: int) -> Value:
        """A matrix of columns times a vector, or a vector times one."""
        width = WIDTHS[kind]
        columns = [self.expression(kind, 0) for _ in range(width)]
        vector = self.expression(kind, depth)
        text = f"mat{width}({', '.join(c.text for c in columns)})"
        parts = [np.broadcast_to(c.numbers, (width, c.numbers.shape[1])) for c in columns]
        numbers = np.broadcast_to(vector.numbers, (width, vector.numbers.shape[1]))
        with np.errstate(all="ignore"):
            if self.random.random() < 0.5:
                total: Any = parts[0] * numbers[0]
                for column, x in zip(parts[1:], numbers[1:], strict=True):
                    total = total + column * x
                return Value(f"({text} * {vector.text})", kind, total)
            rows = [_sum(numbers * column) for column in parts]
        fragments = max(row.shape[0] for row in rows)
        return Value(
            f"({vector.text} * {text})", kind,
            np.stack([np.broadcast_to(row, (fragments,)) for row in rows]),
        )  # fmt: skip

    def called(self, kind: str, depth: int) -> Value:
        """A function of the library that computes no more than operators do, or one of its own."""
        a, b = self.expression(kind, depth), self.expression(kind, depth)
        if self.random.random() < 0.2:
            name = f"f{len(self.functions)}"
            self.functions.append(
                f"{kind} {name}(in {kind} a, inout {kind} b) {{ b += a; return b * a; }}"
            )
            own = Variable(self.name(), kind, b.numbers)
            total = _operate("+", b.numbers, a.numbers)
            self.functions.append(
                f"{kind} {name}({kind} a, const {kind} b, bool c) "
                f"{{ {kind} d = b; return {name}(a, d); }}"
            )
            return Value(
                f"{name}({a.text}, {b.text}, true)", own.kind, _operate("*", total, a.numbers)
            )
        with np.errstate(all="ignore"):
            x, y = np.broadcast_arrays(a.numbers, b.numbers)
            known = {
                "abs": (f"abs({a.text})", np.abs(a.numbers)),
                "floor": (f"floor({a.text})", np.floor(a.numbers)),
                "max": (f"max({a.text}, {b.text})", np.where(x < y, y, x)),
                "min": (f"min({a.text}, {b.text})", np.where(x > y, y, x)),
                "step": (f"step({a.text}, {b.text})", (y >= x).astype(np.float32)),
            }
        text, numbers = known[self.random.choice([*known])]
        return Value(text, kind, numbers)


def _sum(products: F32) -> F32:
    total = products[0]
    for product in products[1:]:
        total = total + product
    return total


def _operate(operator: str, a: F32, b: F32) -> F32:
    with np.errstate(all="ignore"):
        if operator == "/":
            return a * (np.float32(1) / b)
        return {"+": np.add, "-": np.subtract, "*": np.multiply}[operator](a, b)
