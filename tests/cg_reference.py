"""Cg as its manual defines it, evaluated on the syntax tree in float32, statement by statement.

All fragments run at once, each statement under the mask of the fragments that get to it: branches
are not turned into selects, and loops are loops. Nothing of the compiler is used. A quotient is the
product with the reciprocal, sqrt is 1/(1/sqrt), and an int is a float without a fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.languages.c import syntax as c

F32 = NDArray[np.float32]
Mask = NDArray[np.bool_]
ONE = np.float32(1)
RANKS = ("bool", "int", "float")


@dataclass
class Numbers:
    """A scalar or a vector: planes (width, fragments), and its kind: bool, int or float."""

    kind: str
    planes: F32


Value = Any
"""Numbers, a list of values (an array, or a matrix by its rows), or a dict (a struct)."""


def of_kind(value: Numbers, kind: str) -> Numbers:
    planes = value.planes
    if kind == "int" and value.kind == "float":
        planes = np.trunc(planes)
    if kind == "bool" and value.kind != "bool":
        planes = (planes != 0).astype(np.float32)
    return Numbers(kind, planes)


def wide(value: Numbers, width: int) -> F32:
    planes = value.planes
    return np.repeat(planes, width, 0) if len(planes) == 1 else planes[:width]


def together(*values: Numbers) -> list[F32]:
    widths = [len(v.planes) for v in values if len(v.planes) > 1]
    return [wide(v, min(widths, default=1)) for v in values]


def width(value: Value) -> int:
    return len(value.planes) if isinstance(value, Numbers) else 0


def minimum(a: F32, b: F32) -> F32:
    return np.where(a > b, b, a)


def maximum(a: F32, b: F32) -> F32:
    return np.where(a > b, a, b)


def fraction(a: F32) -> F32:
    return np.minimum(a - np.floor(a), np.float32(1 - 2.0**-24))


def saturate(a: F32) -> F32:
    return np.fmin(np.fmax(a, np.float32(0)), ONE)


def root(a: F32) -> F32:
    return ONE / (ONE / np.sqrt(np.abs(a)))


def dot(a: F32, b: F32) -> F32:
    total = a[:1] * b[:1]
    for k in range(1, len(a)):
        total = total + a[k : k + 1] * b[k : k + 1]
    return total


def cross(a: F32, b: F32) -> F32:
    i, j = [1, 2, 0], [2, 0, 1]
    return a[i] * b[j] - a[j] * b[i]


def multiplied(a: Value, b: Value) -> F32:
    """A vector is a row on the left, a column on the right."""
    if isinstance(a, list):
        return np.concatenate([dot(row.planes, b.planes) for row in a])
    columns = np.stack([row.planes for row in b], 1)
    return np.concatenate([dot(a.planes, column) for column in columns])


def fmod(a: F32, b: F32) -> F32:
    size = fraction(np.abs(a * (ONE / b))) * np.abs(b)
    return np.where(a < 0, -size, size)


def smoothstep(low: F32, high: F32, x: F32) -> F32:
    t = saturate((x - low) * (ONE / (high - low)))
    return t * t * (np.float32(3) - np.float32(2) * t)


def reflect(i: F32, n: F32) -> F32:
    return i - np.float32(2) * n * dot(n, i)


LIBRARY: dict[str, Callable[..., F32]] = {
    "abs": np.abs,
    "ceil": lambda a: -np.floor(-a),
    "clamp": lambda x, a, b: maximum(minimum(x, b), a),
    "cross": cross,
    "distance": lambda a, b: root(dot(a - b, a - b)),
    "dot": dot,
    "faceforward": lambda n, i, g: np.where(dot(i, g) < 0, n, -n),
    "floor": np.floor,
    "fmod": fmod,
    "frac": fraction,
    "length": lambda a: root(dot(a, a)),
    "lerp": lambda a, b, f: f * b + (ONE - f) * a,
    "max": maximum,
    "min": minimum,
    "normalize": lambda a: a * (ONE / np.sqrt(np.abs(dot(a, a)))),
    "reflect": reflect,
    "round": lambda a: np.floor(a + np.float32(0.5)),
    "rsqrt": lambda a: ONE / np.sqrt(np.abs(a)),
    "saturate": saturate,
    "sign": lambda a: (a > 0).astype(np.float32) - (a < 0).astype(np.float32),
    "smoothstep": smoothstep,
    "sqrt": root,
    "step": lambda edge, x: (x >= edge).astype(np.float32),
}
BOTH = {"cross", "distance", "dot", "length", "normalize", "reflect", "faceforward"}
KEEPS = {"abs", "max", "min", "clamp", "sign"}
COMPARED: dict[str, Callable[[F32, F32], Mask]] = {
    "<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
OPERATORS: dict[str, Callable[[F32, F32], F32]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": lambda a, b: a * (ONE / b),
    "%": fmod,
}


class Reference:
    """Runs a function of a unit for so many fragments."""

    def __init__(self, unit: c.Unit, count: int, texels: F32) -> None:
        """texels: (rows, columns, 4) of the only texture."""
        self.count, self.texels = count, texels
        self.functions: dict[str, list[c.Function]] = {}
        self.structs: dict[str, c.Struct] = {}
        for item in unit.items:
            if isinstance(item, c.Function):
                self.functions.setdefault(item.name, []).append(item)
            elif isinstance(item, c.Struct):
                self.structs[item.name] = item
        self.names: dict[str, Value] = {}
        self.active: Mask = np.ones(count, bool)
        self.killed: Mask = np.zeros(count, bool)
        self.returned: list[tuple[Mask, Value]] = []
        self.left: list[Mask] = []
        self.skipped: list[Mask] = []

    # Values ---------------------------------------------------------------------------------------

    def number(self, value: float, kind: str) -> Numbers:
        return Numbers(kind, np.full((1, self.count), value, np.float32))

    def zero(self, d: c.Declaration) -> Value:
        if d.dimensions:
            (length,) = d.dimensions
            assert isinstance(length, c.Number)
            return [self.zero_of(d.type.name) for _ in range(int(length.value))]
        return self.zero_of(d.type.name)

    def zero_of(self, name: str) -> Value:
        if name in self.structs:
            return {f.name: self.zero(f) for f in self.structs[name].fields}
        kind, rest = ("float", name[5:]) if name.startswith("float") else (name, "")
        if "x" in rest:
            return [self.zero_of(f"float{rest[2]}") for _ in range(int(rest[0]))]
        return Numbers(kind, np.zeros((int(rest or 1), self.count), np.float32))

    def converted(self, value: Value, like: Value) -> Value:
        if isinstance(value, Numbers) and isinstance(like, list):
            return [self.converted(value, item) for item in like]
        if isinstance(value, Numbers) and isinstance(like, Numbers):
            return of_kind(Numbers(value.kind, wide(value, len(like.planes))), like.kind)
        if isinstance(value, list):
            return [self.converted(v, item) for v, item in zip(value, like, strict=True)]
        return {name: self.converted(v, like[name]) for name, v in value.items()}

    def chosen(self, mask: Mask, yes: Value, no: Value) -> Value:
        if isinstance(yes, Numbers):
            return Numbers(yes.kind, np.where(mask, yes.planes, no.planes))
        if isinstance(yes, list):
            return [self.chosen(mask, a, b) for a, b in zip(yes, no, strict=True)]
        return {name: self.chosen(mask, a, no[name]) for name, a in yes.items()}

    # Expressions ----------------------------------------------------------------------------------

    def value(self, x: c.Expression) -> Value:
        return getattr(self, f"value_of_{type(x).__name__.lower()}")(x)

    def value_of_number(self, x: c.Number) -> Value:
        return self.number(x.value, "int" if isinstance(x.value, int) else "float")

    def value_of_name(self, x: c.Name) -> Value:
        return self.names[x.name]

    def value_of_unary(self, x: c.Unary) -> Value:
        value = self.value(x.operand)
        if x.operator == "!":
            return Numbers("bool", ONE - of_kind(value, "bool").planes)
        assert x.operator == "-"
        return Numbers(value.kind, -value.planes)

    def value_of_binary(self, x: c.Binary) -> Value:
        return self.binary(x.operator, self.value(x.left), self.value(x.right))

    def value_of_conditional(self, x: c.Conditional) -> Value:
        condition = of_kind(self.value(x.condition), "bool")
        yes, no = self.value(x.yes), self.value(x.no)
        test, a, b = together(condition, yes, no)
        return Numbers(max(yes.kind, no.kind, key=RANKS.index), np.where(test != 0, a, b))

    def value_of_assign(self, x: c.Assign) -> Value:
        value = self.value(x.value)
        if x.operator != "=":
            value = self.binary(x.operator[:-1], self.value(x.target), value)
        self.assign(x.target, value)
        return self.value(x.target)

    def value_of_postfix(self, x: c.Postfix) -> Value:
        old = self.value(x.assignment.target)
        self.value_of_assign(x.assignment)
        return old

    def value_of_member(self, x: c.Member) -> Value:
        base = self.value(x.base)
        if isinstance(base, dict):
            return base[x.name]
        return Numbers(base.kind, base.planes[["xyzw".index(k) for k in x.name]])

    def value_of_index(self, x: c.Index) -> Value:
        base, number = self.value(x.base), self.known(x.index)
        if isinstance(base, list):
            return base[number]
        return Numbers(base.kind, base.planes[number : number + 1])

    def value_of_cast(self, x: c.Cast) -> Value:
        return self.converted(self.value(x.operand), self.zero_of(x.type.type.name))

    def value_of_call(self, x: c.Call) -> Value:
        name = x.function.name  # type: ignore[union-attr]
        if name in self.functions:
            return self.inlined(self.functions[name], x.arguments)
        if name.endswith("texRECT"):
            return Numbers("float", self.texel(self.value(x.arguments[1]))[: int(name[1])])
        values = [self.value(a) for a in x.arguments]
        constructs = name.startswith("float")
        return self.constructed(name, values) if constructs else self.library(name, values)

    def constructed(self, name: str, values: list[Value]) -> Value:
        if "x" in name:
            return values
        like = self.zero_of(name)
        if len(values) == 1:
            return self.converted(values[0], like)
        return Numbers(like.kind, np.concatenate([v.planes for v in values]))

    def library(self, name: str, values: list[Value]) -> Value:
        if name == "mul":
            return Numbers("float", multiplied(*values))
        if name in ("any", "all"):
            truth = values[0].planes != 0
            found = truth.any(0) if name == "any" else truth.all(0)
            return Numbers("bool", found.astype(np.float32)[None])
        is_whole = name in KEEPS and all(v.kind != "float" for v in values)
        return Numbers("int" if is_whole else "float", LIBRARY[name](*together(*values)))

    def texel(self, place: Numbers) -> F32:
        column, row = np.floor(place.planes[:2])
        rows, columns, _ = self.texels.shape
        i = np.clip(np.nan_to_num(row), 0, rows - 1).astype(int)
        j = np.clip(np.nan_to_num(column), 0, columns - 1).astype(int)
        return np.moveaxis(self.texels[i, j], -1, 0)

    def known(self, x: c.Expression) -> int:
        return int(self.value(x).planes[0, 0])

    def binary(self, operator: str, a: Numbers, b: Numbers) -> Numbers:
        x, y = together(a, b)
        if operator in COMPARED:
            return Numbers("bool", COMPARED[operator](x, y).astype(np.float32))
        if operator in ("&&", "||"):
            p, q = x != 0, y != 0
            return Numbers("bool", (p & q if operator == "&&" else p | q).astype(np.float32))
        kind = max(a.kind, b.kind, "int", key=RANKS.index)
        if kind == "int" and operator in ("/", "%"):
            whole = np.trunc(x.astype(np.float64) / y).astype(np.float32)
            return Numbers(kind, whole if operator == "/" else np.fmod(x, y))
        return Numbers(kind, OPERATORS[operator](x, y))

    def inlined(self, functions: list[c.Function], arguments: tuple[c.Expression, ...]) -> Value:
        values = [self.value(a) for a in arguments]
        function = next(
            (f for f in functions if width(self.zero(f.parameters[0])) == width(values[0])),
            functions[0],
        )
        outer, self.names = self.names, {}
        for p, value in zip(function.parameters, values, strict=True):
            start = self.zero(p)
            self.names[p.name] = (
                start if "out" in p.type.qualifiers else self.converted(value, start)
            )
        result = self.run(function)
        inner, self.names = self.names, outer
        for p, argument in zip(function.parameters, arguments, strict=True):
            if p.type.qualifiers & {"out", "inout"}:
                self.assign(argument, inner[p.name])
        return result

    def assign(self, target: c.Expression, value: Value) -> None:
        if isinstance(target, c.Name):
            old = self.names[target.name]
            self.names[target.name] = self.chosen(self.active, self.converted(value, old), old)
            return
        assert isinstance(target, c.Member | c.Index)
        base = self.value(target.base)
        if isinstance(target, c.Member) and isinstance(base, dict):
            whole: Value = base | {target.name: self.converted(value, base[target.name])}
        elif isinstance(base, list):
            assert isinstance(target, c.Index)
            number = self.known(target.index)
            whole = [*base[:number], self.converted(value, base[number]), *base[number + 1 :]]
        else:
            lanes = (
                ["xyzw".index(k) for k in target.name]
                if isinstance(target, c.Member)
                else [self.known(target.index)]
            )
            planes = base.planes.copy()
            planes[lanes] = wide(of_kind(value, base.kind), len(lanes))
            whole = Numbers(base.kind, planes)
        self.assign(target.base, whole)

    # Statements -----------------------------------------------------------------------------------

    def run(self, function: c.Function) -> Value:
        """The function's body under the present mask, in the present names; what it returns."""
        before, self.returned = (self.active, self.returned, self.left, self.skipped), []
        self.left, self.skipped = [], []
        assert function.body is not None
        self.execute(function.body)
        result = None if function.type.name == "void" else self.zero_of(function.type.name)
        for mask, value in self.returned:
            result = self.chosen(mask, value, result)
        self.active, self.returned, self.left, self.skipped = before
        self.active = self.active & ~self.killed
        return result

    def execute(self, statement: c.Statement | None) -> None:
        if statement is not None:
            getattr(self, f"run_{type(statement).__name__.lower()}")(statement)

    def run_block(self, block: c.Block) -> None:
        for inner in block.statements:
            self.execute(inner)

    def run_declare(self, statement: c.Declare) -> None:
        for d in statement.declarations:
            start = self.zero(d)
            value = start if d.value is None else self.converted(self.value(d.value), start)
            self.names[d.name] = value

    def run_evaluate(self, statement: c.Evaluate) -> None:
        if statement.expression is not None:
            self.value(statement.expression)

    def truth(self, condition: c.Expression | None) -> Mask:
        assert condition is not None
        return of_kind(self.value(condition), "bool").planes[0] != 0

    def run_if(self, statement: c.If) -> None:
        test, before = self.truth(statement.condition), self.active
        self.active = before & test
        self.execute(statement.yes)
        kept, self.active = self.active, before & ~test
        self.execute(statement.no)
        self.active = kept | self.active

    def run_for(self, loop: c.For) -> None:
        self.execute(loop.start)
        self.left.append(np.zeros(self.count, bool))
        while ((test := self.truth(loop.condition)) & self.active).any():
            self.left[-1] = self.left[-1] | (self.active & ~test)
            self.active = self.active & test
            self.skipped.append(np.zeros(self.count, bool))
            self.execute(loop.body)
            self.active = self.active | self.skipped.pop()
            before, self.active = self.active, np.ones(self.count, bool)
            if loop.step is not None:
                self.value(loop.step)
            self.active = before
        self.active = self.active | self.left.pop()

    def run_jump(self, jump: c.Jump) -> None:
        if jump.kind == "discard":
            self.killed = self.killed | self.active
        else:
            leaving = self.left if jump.kind == "break" else self.skipped
            leaving[-1] = leaving[-1] | self.active
        self.active = self.active & False

    def run_return(self, statement: c.Return) -> None:
        assert statement.value is not None
        self.returned.append((self.active, self.value(statement.value)))
        self.active = self.active & False


def run(
    unit: c.Unit, given: Mapping[str, tuple[str, F32 | list[F32]]], count: int, texels: F32
) -> tuple[F32, Mask]:
    """What main returns, as planes, and which fragments are discarded.

    given: of each parameter its kind and its planes; of an array those of its elements.
    """
    reference = Reference(unit, count, texels)
    reference.names = {
        name: [Numbers(kind, p) for p in planes]
        if isinstance(planes, list)
        else Numbers(kind, planes)
        for name, (kind, planes) in given.items()
    }
    (main,) = reference.functions["main"]
    with np.errstate(all="ignore"):
        result = reference.run(main)
    return result.planes, reference.killed
