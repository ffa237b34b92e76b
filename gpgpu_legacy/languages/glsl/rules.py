"""GLSL's differences from Cg: types, conversions, constructors and operators.

A matrix's items are its columns. The sections are of The OpenGL Shading Language 1.20.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import inf
from operator import add, and_, ge, gt, le, lt

from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.glsl.words import MATRICES, SAMPLERS
from gpgpu_legacy.languages.shading.evaluate import Evaluator
from gpgpu_legacy.languages.shading.expressions import described, of_kind
from gpgpu_legacy.languages.shading.graph import Fault, Graph, Vector
from gpgpu_legacy.languages.shading.library import Library
from gpgpu_legacy.languages.shading.types import (
    BUILT_IN,
    GENERIC,
    ArrayType,
    Numbers,
    SamplerType,
    StructType,
    Type,
    extents,
    is_matrix,
    length,
    matrix,
    size,
)

_NO_BITS = "fragment programs of the time have floats alone: use int or float"
_REFUSED = {
    "noise[1-4]": "no chip of the time computes noise: look it up in a texture",
    "(u?intBits|floatBits)To.*|(un)?pack.*": _NO_BITS,
}
_TYPES: Mapping[str, Type] = {
    **BUILT_IN,
    **{f"{k[0]}vec{n}": Numbers(k, n) for k in ("bool", "int") for n in (2, 3, 4)},
    **{name: matrix("float", *shape) for name, shape in MATRICES.items()},
    **{name: SamplerType(target) for name, target in SAMPLERS.items()},
}
_BY_COMPONENT: Mapping[str, Callable[..., Vector]] = {
    "lessThan": lt, "lessThanEqual": le, "greaterThan": gt, "greaterThanEqual": ge,
    "equal": Vector.equals, "notEqual": lambda a, b: ~a.equals(b), "not": lambda a: ~a,
}  # fmt: skip
_ONE_WIDTH = {"pow", "atan", "dot", "distance", "reflect", "faceforward"}
"""Functions that take no scalar beside a vector."""


class Rules(Evaluator):
    """Evaluates functions of GLSL. version: such as 120; 100 is GLSL ES."""

    library = Library(__package__, _REFUSED)
    built_in = _TYPES
    version = 110

    def __init__(self, unit: c.Unit, graph: Graph) -> None:
        super().__init__(unit, graph, _BY_COMPONENT)

    def type_named(self, name: c.TypeName) -> Type:
        """The type of a name; Fault for one that is unsigned."""
        if name.name.startswith(("uint", "uvec")):
            raise Fault(f"{name.name} cannot be compiled; {_NO_BITS}", name.at)
        return super().type_named(name)

    # Conversions (4.1.10) -------------------------------------------------------------------------

    def _widens(self, own: Type, kind: Type) -> bool:
        """Whether a value is implicitly converted to another type."""
        return (
            self.version >= 120
            and isinstance(own, Numbers)
            and own.kind == "int"
            and kind == replace(own, kind="float")
        )

    def convert(self, value: Vector, kind: Type, at: Span) -> Vector:
        """A value as another type, as an assignment or a function's argument converts it."""
        own = value.type
        if kind == own or at.file == c.BEFORE:
            return super().convert(value, kind, at)
        if kind.kind in GENERIC and own.kind == "int" and self.version < 120:
            raise Fault(f"this is {described(value)}; expected float: write float(…)", at)
        has_no_length = isinstance(kind, ArrayType) and kind.length is None
        if kind.kind in GENERIC or (has_no_length and own.kind == kind.kind):
            return super().convert(value, kind, at)
        if self._widens(own, kind):
            return of_kind(value, kind.kind)
        expected = f"write {kind}(…)" if isinstance(kind, Numbers) else f"expected {kind}"
        raise Fault(f"{described(value)} does not become {kind} by itself; {expected}", at)

    def distance(self, own: Type, kind: Type) -> float:
        """The cost of an implicit conversion where overloads are chosen."""
        if kind.kind in GENERIC:
            return inf if own.kind == "bool" else super().distance(own, kind)
        return 0 if own == kind else 1 if self._widens(own, kind) else inf

    def scalar(self, expression: c.Expression, kind: str) -> Vector:
        """The value of an expression that must be one number of a kind."""
        value = self.evaluate(expression)
        if expression.at.file != c.BEFORE and value.type != Numbers(kind, 1):
            raise Fault(f"this is {described(value)}; expected {kind}", expression.at)
        return value

    def _balanced(self, a: Vector, b: Vector, what: str, at: Span) -> tuple[Vector, Vector]:
        """Two values, converted to one kind; Fault if they cannot be."""
        if a.kind != b.kind:
            if self.version < 120 or {a.kind, b.kind} != {"int", "float"}:
                raise _odd(what, "convert one, as in float(i), and write 1.0 for 1", at, a, b)
            a, b = of_kind(a, "float"), of_kind(b, "float")
        return a, b

    # Constructors (5.4) ---------------------------------------------------------------------------

    def constructed(self, kind: Type, values: Sequence[Vector], at: Span) -> Vector:
        """`vec4(…)`, `mat3(…)`, `Light(…)` or `float[](…)`."""
        if at.file == c.BEFORE:
            return super().constructed(kind, values, at)
        if isinstance(kind, StructType) or (isinstance(kind, ArrayType) and not kind.is_matrix):
            count = length(kind) or len(values)
            types = kind.types if isinstance(kind, StructType) else (kind.item,) * count
            if len(types) != len(values):
                raise Fault(f"{kind} is given {len(values)} values; expected {len(types)}", at)
            parts = [self.convert(v, t, at) for v, t in zip(values, types, strict=True)]
            if isinstance(kind, ArrayType):
                kind = replace(kind, length=len(values))
            return self.graph.built(kind, parts)
        given = [of_kind(self.flat(value, at), kind.kind) for value in values]
        numbers = [x for vector in given for x in vector]
        count = size(kind)
        if len(values) == 1 and is_matrix(kind):
            numbers = self._resized(kind, values[0], numbers) or numbers
        elif len(values) == 1:
            numbers = numbers * (count if len(numbers) == 1 else 1)
        needed = len(numbers) - len(given[-1]) if len(given) > 1 and not is_matrix(kind) else 0
        if len(numbers) < count or needed >= count or (is_matrix(kind) and len(numbers) > count):
            raise Fault(f"{kind} is given {len(numbers)} numbers; expected {count}", at)
        return self.graph.built(kind, numbers[:count])

    def _resized(self, kind: Type, value: Vector, numbers: Sequence[Vector]) -> list[Vector]:
        """The numbers of a matrix from one number or another matrix; empty for other values."""
        high, wide = extents(value.type)
        if high * wide > 1 and not is_matrix(value.type):
            return []
        zero, one = (self.graph.numbers(n) for n in (0.0, 1.0))
        if high * wide == 1:
            high, wide, one = 0, 0, numbers[0]
        columns, rows = extents(kind)
        return [
            numbers[n * wide + m] if n < high and m < wide else one if n == m else zero
            for n in range(columns) for m in range(rows)
        ]  # fmt: skip

    # Operators (5.9) ------------------------------------------------------------------------------

    def operate(self, operator: str, a: Vector, b: Vector, at: Span) -> Vector:
        """Apply an operator to two values."""
        if at.file == c.BEFORE:
            return super().operate(operator, a, b, at)
        self.graph.at = at
        if operator in ("&&", "||", "^^"):
            if {a.type, b.type} != {Numbers("bool", 1)}:
                raise _odd(operator, "expected bool", at, a, b)
            return ~a.equals(b) if operator == "^^" else super().operate(operator, a, b, at)
        a, b = self._balanced(a, b, operator, at)
        if operator in ("==", "!="):
            if a.type != b.type or not len(a):
                raise _odd(operator, "expected values of one type", at, a, b)
            same = reduce(and_, self.graph.join(*a.leaves()).equals(self.graph.join(*b.leaves())))
            return same if operator == "==" else ~same
        widths = {extents(value.type) for value in (a, b)}
        if a.kind == "bool" or (0, 0) in widths:
            raise _odd(operator, "expected numbers", at, a, b)
        if operator in ("<", ">", "<=", ">=") and widths != {(1, 1)}:
            raise _odd(operator, "use lessThan and the like", at, a, b)
        if operator == "*" and (1, 1) not in widths and (a.shape or b.shape):
            return self._product(a, b, at)
        if len(widths - {(1, 1)}) > 1:
            raise _odd(operator, "expected one size", at, a, b)
        result = super().operate(operator, a.of(a.kind), b.of(b.kind), at)
        return replace(result, shape=a.shape or b.shape)

    def _product(self, a: Vector, b: Vector, at: Span) -> Vector:
        """The product of linear algebra; a vector is a column on the right, a row on the left."""
        inner = length(a.type)
        if inner != extents(b.type)[1]:
            raise _odd("*", "expected fitting sizes", at, a, b)
        if not is_matrix(a.type):
            return self.graph.join(*(self.graph.dot(a, b.item(n)) for n in range(length(b.type))))
        if not is_matrix(b.type):
            return reduce(add, (a.item(n) * b[n] for n in range(inner)))
        columns = [self._product(a, b.item(n), at) for n in range(length(b.type))]
        return self.graph.built(matrix("float", len(columns), len(columns[0])), columns)

    def _assign(self, x: c.Assign) -> Vector:
        one = x.value
        if isinstance(one, c.Number) and one.at == x.at:  # ++ and --
            is_int = self.place(x.target).type.kind == "int"
            x = replace(x, value=replace(one, value=1 if is_int else 1.0))
        return super()._assign(x)

    def _unary(self, x: c.Unary) -> Vector:
        value = super()._unary(x)
        if x.operator in "+-~" and value.kind == "bool" and x.at.file != c.BEFORE:
            raise _odd(x.operator, "expected numbers", x.at, value)
        return value

    def _conditional(self, x: c.Conditional) -> Vector:
        if x.at.file == c.BEFORE:
            return super()._conditional(x)
        condition = self.scalar(x.condition, "bool")
        if condition.constant:
            return self.evaluate(x.yes if condition.constant[0] else x.no)
        yes, no = self.evaluate(x.yes), self.evaluate(x.no)
        yes, no = self._balanced(yes, no, "?:", x.at)
        if yes.type != no.type:
            raise _odd("?:", "expected one type", x.at, yes, no)
        self.graph.at = x.at
        return self.graph.select(condition, yes, no)

    def _number(self, x: c.Number) -> Vector:
        if "u" in x.suffix:
            raise Fault(f"this number is unsigned; {_NO_BITS}", x.at)
        return super()._number(x)

    # Functions (6.1) ------------------------------------------------------------------------------

    def overloads(self, name: str) -> Sequence[c.Function]:
        """The text's own functions of that name, and then the library's."""
        own = super().overloads(name)
        known = name in self.library.texts
        return [*own, *self.library.functions(name, own[0].at)] if known else own

    def chosen(
        self, functions: Sequence[c.Function], values: Sequence[Vector], call: c.Call
    ) -> c.Function:
        """The function that a call means; Fault for vectors that do not fit each other."""
        function = super().chosen(functions, values, call)
        if function.at.file == c.BEFORE and call.at.file != c.BEFORE:
            widths = {len(v) for v in values if not v.shape}
            if len(widths) > (1 if function.name in _ONE_WIDTH else 2) or len(widths - {1}) > 1:
                raise _odd(function.name, "expected one size", call.at, *values)
        return function

    def call_method(self, name: c.Member, call: c.Call) -> Vector | None:
        """The value of `array.length()`, GLSL's only method."""
        base = self.evaluate(name.base)
        if name.name != "length" or not isinstance(base.type, ArrayType) or call.arguments:
            raise _odd(f"{name.name}()", "only an array has length()", name.at, base)
        return self.graph.numbers(length(base.type), kind="int")


def _odd(what: str, expected: str, at: Span, *values: Vector) -> Fault:
    """The fault of an operator or a function that does not suit values."""
    return Fault(f"{what} has {' and '.join(map(described, values))}; {expected}", at)
