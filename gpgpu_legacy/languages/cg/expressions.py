"""Expressions of Cg, evaluated on a graph: names, operators, members, indices, conversions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import add, and_, ge, gt, le, lt, mul, or_, sub, xor
from typing import Any

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import Span
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.cg.faults import Fault
from gpgpu_legacy.languages.cg.graph import Graph, Vector
from gpgpu_legacy.languages.cg.types import (
    GENERIC,
    Aggregate,
    ArrayType,
    Cell,
    Indexed,
    Numbers,
    SamplerType,
    SamplerValue,
    StructType,
    Type,
    Unreadable,
    Value,
    built,
    built_in,
    cells,
    combined,
    size,
    swizzle,
    type_of,
    vectors_of,
)
from gpgpu_legacy.languages.diagnostics import meant

Step = int | tuple[int | Cell, ...]
"""Part of a value: an item or a component, a swizzle, or cells of a matrix."""

_LONGEST_ARRAY = 4096
_COMMON_TYPES = ("float", "float2", "float3", "float4", "half", "fixed", "int", "bool", "sampler2D")


@dataclass(eq=False)
class Variable:
    """A declared name. Its value is in the evaluator's `values`."""

    name: str
    type: Type | None
    is_constant: bool


@frozen
class Place:
    """What can be assigned to: a variable, and the way to a part of it."""

    variable: Variable
    steps: tuple[Step, ...]
    at: Span


class Expressions:
    """Evaluates expressions. `evaluate` is its entry; a subclass evaluates calls."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.types: dict[str, Type] = {}
        self.scopes: list[dict[str, Variable]] = [{}]
        self.values: dict[Variable, Value] = {}

    def evaluate(self, expression: c.Expression) -> Value:
        """The value of an expression."""
        self.graph.at = expression.at
        value = _EVALUATE.get(type(expression), _refused)(self, expression)
        if value is None:
            raise Fault("a void function has no value", "call it as a statement", expression.at)
        return value

    def vector(self, expression: c.Expression) -> Vector:
        """The value of an expression that must be a scalar or a vector."""
        return self.as_vector(self.evaluate(expression), expression.at)

    def as_vector(self, value: Value, at: Span) -> Vector:
        """The value, if it is a vector."""
        if isinstance(value, Vector):
            return value
        if isinstance(value, Unreadable):
            raise Fault(value.why, value.expected, at)
        raise Fault(f"this is {described(value)}", "expected a number or a vector", at)

    def scalar(self, expression: c.Expression, kind: str) -> Vector:
        """The value of an expression that must be one number, converted."""
        value = self.vector(expression)
        if len(value) != 1:
            raise Fault(f"this is {described(value)}", "expected one number", expression.at)
        return of_kind(value, kind)

    def known(self, expression: c.Expression, what: str) -> int:
        """The value of an expression that must be an integer known at compile time."""
        numbers = self.scalar(expression, "int").constant
        if numbers is None:
            expected = "expected an integer that is known when the program is compiled"
            raise Fault(f"{what} depends on data", expected, expression.at)
        return int(numbers[0])

    # Names ----------------------------------------------------------------------------------------

    def find(self, name: c.Name) -> Variable:
        """The variable of a name."""
        for scope in reversed(self.scopes):
            if name.name in scope:
                return scope[name.name]
        known = [n for scope in reversed(self.scopes) for n in scope]
        raise Fault(
            f"{name.name} is not declared", meant(name.name, known) or "declare it first", name.at
        )

    def declare(
        self, name: str, kind: Type | None, value: Value, *, constant: bool = False
    ) -> Variable:
        """A new variable in the innermost scope. kind: for a value without a type."""
        variable = self.scopes[-1][name] = Variable(name, type_of(value) or kind, constant)
        self.values[variable] = value
        return variable

    def type_of(self, declaration: c.Declaration) -> Type:
        """The type that a declaration gives its name."""
        if declaration.pointers:
            problem = f"{declaration.name or 'this'} is a pointer"
            raise Fault(problem, "kernels have arrays and no pointers", declaration.at)
        kind = self.type_named(declaration.type)
        for dimension in reversed(declaration.dimensions):
            length = None if dimension is None else self.known(dimension, "this length")
            if length is not None and not 0 < length <= _LONGEST_ARRAY:
                expected = f"an array has 1 to {_LONGEST_ARRAY} elements"
                raise Fault(f"{declaration.name} has {length} elements", expected, declaration.at)
            kind = ArrayType(kind, length)
        return kind

    def type_named(self, name: c.TypeName) -> Type:
        """The type of a name."""
        known = GENERIC if name.at.file == c.BEFORE else self.types
        kind = known.get(name.name) or built_in(name.name)
        if kind is None:
            raise Fault(
                f"{name.name} is not a type",
                meant(name.name, [*self.types, *_COMMON_TYPES]) or "define it first",
                name.at,
            )
        return kind

    # Conversions ----------------------------------------------------------------------------------

    def convert(self, value: Value, kind: Type | None, at: Span) -> Value:
        """A value as another type: scalars smear, longer vectors and matrices lose their ends."""
        own = type_of(value)
        if isinstance(value, Unreadable):
            self.as_vector(value, at)
        if own == kind or kind is None or own is None:
            return value
        if isinstance(kind, Numbers) and kind.kind in GENERIC:
            return value if kind.kind == "value" else self._any_width(value, kind, at)
        items: Sequence[Value] = ()
        if isinstance(value, Vector):
            if isinstance(kind, Numbers) and (len(value) == 1 or len(value) >= kind.width):
                return of_kind(value.smeared(kind.width), kind.kind)
            if isinstance(kind, ArrayType) and kind.is_matrix and len(value) == 1:
                items = (value,) * (kind.length or 0)
        elif isinstance(value, Aggregate) and isinstance(kind, ArrayType):
            count = len(value.items)
            if kind.length in (None, count) or (kind.is_matrix and count > (kind.length or 0)):
                items = value.items[: kind.length]
        elif (
            isinstance(value, SamplerValue)
            and isinstance(kind, SamplerType)
            and None in (value.type.target, kind.target)
        ):
            return SamplerValue(value.unit, kind if kind.target else value.type)
        numbers = [x for vector in vectors_of(value) for x in vector]
        if not items and len(numbers) == size(kind) and any(map(_is_matrix, (own, kind))):
            return self._of_numbers(kind, numbers)  # float4(float2x2) and the like
        if not items or not isinstance(kind, ArrayType):
            raise Fault(f"{described(value)} cannot become {kind}", f"expected {kind}", at)
        made = tuple(self.convert(item, kind.item, at) for item in items)
        return Aggregate(replace(kind, length=len(made)), made)

    def _any_width(self, value: Value, kind: Numbers, at: Span) -> Vector:
        vector = self.as_vector(value, at)
        return vector.of("float") if kind.kind == "real" and vector.kind in _WHOLE else vector

    def constructed(self, kind: Type, values: Sequence[Value], at: Span) -> Value:
        """`float4(…)`, or a braced initialiser: numbers in order."""
        is_list = isinstance(kind, StructType) or (
            isinstance(kind, ArrayType) and not kind.is_matrix
        )
        if len(values) == 1 and not is_list:
            return self.convert(values[0], kind, at)
        for value in values:
            if not isinstance(value, Aggregate):
                self.as_vector(value, at)
        numbers = [x for value in values for vector in vectors_of(value) for x in vector]
        if isinstance(kind, ArrayType) and kind.length is None:
            kind = replace(kind, length=len(numbers) // size(kind.item))
        if len(numbers) != size(kind):
            raise Fault(f"{kind} is given {len(numbers)} numbers", f"expected {size(kind)}", at)
        return self._of_numbers(kind, numbers)

    def _of_numbers(self, kind: Type, numbers: Sequence[Vector]) -> Value:
        left = iter(numbers)

        def leaf(kind: Numbers | SamplerType, _: str) -> Value:
            assert isinstance(kind, Numbers)
            return of_kind(self.graph.join(*islice(left, kind.width)), kind.kind)

        return built(kind, leaf)

    def initialised(self, value: c.Expression, kind: Type | None) -> Value:
        """The value of an initialiser, which may be braced, for a variable of a type."""
        if not isinstance(value, c.Braces):
            return self.convert(self.evaluate(value), kind, value.at)
        values = self._braced(value)
        return values[0] if kind is None else self.constructed(kind, values, value.at)

    def _braced(self, value: c.Expression) -> list[Value]:
        if isinstance(value, c.Braces):
            return [v for item in value.items for v in self._braced(item)]
        return [self.evaluate(value)]

    # Places ---------------------------------------------------------------------------------------

    def place(self, expression: c.Expression) -> Place:
        """What an expression assigns to."""
        if isinstance(expression, c.Name):
            return Place(self.find(expression), (), expression.at)
        if not isinstance(expression, c.Member | c.Index):
            raise Fault("this cannot be assigned to", "expected a variable", expression.at)
        place = self.place(expression.base)
        step = self.step(self.read(place), expression)
        return Place(place.variable, (*place.steps, step), expression.at)

    def read(self, place: Place) -> Value:
        """The value at a place."""
        value = self.values[place.variable]
        for step in place.steps:
            value = taken(value, step)
        return value

    def write(self, place: Place, value: Value) -> None:
        """Assign, after the conversion to the place's type."""
        variable = place.variable
        if variable.is_constant:
            raise Fault(f"{variable.name} is const", "only a variable can be assigned to", place.at)
        kind = type_of(self.read(place)) if place.steps else variable.type
        value = self.convert(value, kind, place.at)
        self.values[variable] = self._updated(self.values[variable], place.steps, value, place.at)

    def _updated(self, whole: Value, steps: tuple[Step, ...], part: Value, at: Span) -> Value:
        if not steps:
            return part
        step, rest = steps[0], steps[1:]
        part = self._updated(taken(whole, step), rest, part, at)
        if isinstance(step, int):
            items = list(items_of(whole))
            items[step] = part
            if isinstance(whole, Aggregate):
                return Aggregate(whole.type, tuple(items))
            return self.graph.join(*items).of(self.as_vector(whole, at).kind)  # type: ignore[arg-type]
        if len(set(step)) < len(step):
            raise Fault("a component is assigned twice", "write each component once", at)
        for target, component in zip(step, self.as_vector(part, at), strict=True):
            way = (target,) if isinstance(target, int) else target
            whole = self._updated(whole, way, component, at)
        return whole

    def step(self, value: Value, part: c.Member | c.Index) -> Step:
        """The part of a value that `.name` or an index is; an index must be known."""
        if not isinstance(value, Aggregate):
            self.as_vector(value, part.at)
        if isinstance(part, c.Member):
            return self._member(value, part)
        number, count = self.known(part.index, "this index"), len(items_of(value))
        if not 0 <= number < count:
            raise Fault(f"index {number} is outside", f"expected 0 to {count - 1}", part.at)
        return number

    def _member(self, value: Value, member: c.Member) -> Step:
        kind, name = type_of(value), member.name
        fields = [f.name for f in kind.fields] if isinstance(kind, StructType) else []
        if name in fields:
            return fields.index(name)
        chosen: Step = cells(name) if isinstance(kind, ArrayType) else swizzle(name)
        try:
            if chosen and not fields:
                taken(value, chosen)
                return chosen
        except (IndexError, AttributeError):
            pass
        raise Fault(
            f"{described(value)} has no .{name}",
            meant(name, fields, ".") or f"it has {', '.join(fields) or 'no such component'}",
            member.at,
        )

    def select(self, condition: Vector, yes: Value, no: Value) -> Value:
        """Either value, of one type, chosen by a condition."""
        return (
            yes if yes == no else combined(lambda a, b: self.graph.select(condition, a, b), yes, no)
        )

    # Operators ------------------------------------------------------------------------------------

    def operate(self, operator: str, a: Value, b: Value, at: Span) -> Value:
        """An operator of two values; of matrices, element by element."""
        self.graph.at = at
        kind = next((k for k in (type_of(a), type_of(b)) if isinstance(k, ArrayType)), None)
        if kind is not None and kind.is_matrix:
            wide = [self.convert(value, kind, at) for value in (a, b)]
            return combined(partial(_operated, operator), *wide)
        return _operated(operator, self.as_vector(a, at), self.as_vector(b, at))

    def increment(self, x: c.Unary | c.Postfix) -> tuple[Value, Value]:
        """The values before and after ++ or --."""
        place = self.place(x.operand)
        before = self.read(place)
        self.write(
            place, self.operate(x.operator[0], before, self.graph.numbers(1, kind="int"), x.at)
        )
        return before, self.read(place)


def items_of(value: Value) -> Sequence[Value]:
    """The components or items of a value."""
    return (
        value.items if isinstance(value, Aggregate) else [x for v in vectors_of(value) for x in v]
    )


def taken(value: Value, step: Step) -> Value:
    """A part of a value."""
    items = items_of(value)
    if isinstance(step, int):
        return items[step]
    parts = [items_of(items[t[0]])[t[1]] if isinstance(t, tuple) else items[t] for t in step]
    vectors = [v for part in parts for v in vectors_of(part)]
    return vectors[0].graph.join(*vectors)


def _is_matrix(kind: Type) -> bool:
    return isinstance(kind, ArrayType) and kind.is_matrix


def described(value: Value) -> str:
    """A value's type, for messages."""
    kind = type_of(value)
    return "a stream" if kind is None else f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}"


# Operators of vectors -----------------------------------------------------------------------------

_WHOLE = ("bool", "int")


def of_kind(value: Vector, kind: str) -> Vector:
    """Numbers as another kind: an int loses its fraction, a bool is whether it is not 0."""
    if kind == "int" and value.kind not in _WHOLE:
        value = truncated(value)
    if kind == "bool" and value.kind != "bool":
        value = ~value.equals(0.0)
    return value.of(kind)


def truncated(value: Vector) -> Vector:
    """The numbers without their fractions."""
    graph = value.graph
    magnitude = graph.op("FLR", graph.op("ABS", value))
    return graph.select(value < 0.0, -magnitude, magnitude)


def remainder(a: Vector, b: Vector) -> Vector:
    """fmod, with the sign of a."""
    g = a.graph
    magnitude = g.op("FRC", g.op("ABS", a / b)) * g.op("ABS", b)
    return g.select(a < 0.0, -magnitude, magnitude)


def _quotient(a: Vector, b: Vector) -> Vector:
    """A / b: of ints, without its fraction.

    A half is added to an int's magnitude first, so that an inexact reciprocal does not take the
    quotient below a whole number; magnitudes below 2^22 come out right.
    """
    if a.kind not in _WHOLE or b.kind not in _WHOLE:
        return a / b
    g = a.graph
    magnitude = g.op("FLR", (g.op("ABS", a) + 0.5) * g.op("RCP", g.op("ABS", b)))
    below = a * b if b.constant is None else a if min(b.constant) > 0 else -a
    return g.select(below < 0.0, -magnitude, magnitude).of("int")


def _remainder(a: Vector, b: Vector) -> Vector:
    """A % b: of ints what `/` leaves over, of floats fmod."""
    return a - b * _quotient(a, b) if {a.kind, b.kind} <= set(_WHOLE) else remainder(a, b)


def _bits(operate: Callable[[int, int], int]) -> Callable[[Vector, Vector], Vector]:
    def known(a: Vector, b: Vector) -> Vector:
        if not a.constant or not b.constant or a.kind not in _WHOLE or b.kind not in _WHOLE:
            expected = "only integers that are known when the program is compiled have bits"
            raise Fault("this operator works on bits", expected, a.graph.at)
        return a.graph.numbers(operate(int(a.constant[0]), int(b.constant[0])), kind="int")

    return known


def _number_of(value: Vector) -> Vector:
    """A bool as an int."""
    return value.of("int") if value.kind == "bool" else value


def _operated(operator: str, a: Vector, b: Vector) -> Vector:
    if operator in "+-*/%":
        a, b = _number_of(a), _number_of(b)
    return _OPERATORS[operator](a, b)


_OPERATORS: Mapping[str, Callable[[Any, Any], Vector]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": _quotient,
    "%": _remainder,
    "<": lt,
    ">": gt,
    "<=": le,
    ">=": ge,
    "==": Vector.equals,
    "!=": lambda a, b: ~a.equals(b),
    "&&": lambda a, b: of_kind(a, "bool") & of_kind(b, "bool"),
    "||": lambda a, b: of_kind(a, "bool") | of_kind(b, "bool"),
    "&": _bits(and_),
    "|": _bits(or_),
    "^": _bits(xor),
    "<<": _bits(lambda a, b: a << min(max(b, 0), 31)),
    ">>": _bits(lambda a, b: a >> max(b, 0)),
}


# Each kind of expression --------------------------------------------------------------------------


def _binary(e: Expressions, x: c.Binary) -> Value:
    left = e.evaluate(x.left)
    if x.operator in ("&&", "||") and isinstance(left, Vector) and len(left) == 1:
        known = of_kind(left, "bool").constant
        if known is not None and bool(known[0]) == (x.operator == "||"):
            return e.graph.numbers(*known, kind="bool")
    return e.operate(x.operator, left, e.evaluate(x.right), x.at)


def _unary(e: Expressions, x: c.Unary) -> Value:
    if x.operator in ("++", "--"):
        return e.increment(x)[1]
    value = e.evaluate(x.operand)
    match x.operator:
        case "-":
            return combined(lambda v: -_number_of(v), value)
        case "!":
            return ~of_kind(e.as_vector(value, x.at), "bool")
        case "~":
            return _bits(lambda a, _: ~a)(e.as_vector(value, x.at), e.graph.numbers(0, kind="int"))
        case "+":
            return value
    raise Fault(f"{x.operator} makes a pointer", "kernels have arrays and no pointers", x.at)


def _assign(e: Expressions, x: c.Assign) -> Value:
    place = e.place(x.target)
    value = e.initialised(
        x.value, type_of(e.read(place)) if isinstance(x.value, c.Braces) else None
    )
    if x.operator != "=":
        value = e.operate(x.operator[:-1], e.read(place), value, x.at)
    e.graph.at = x.at
    e.write(place, value)
    return e.read(place)


def _conditional(e: Expressions, x: c.Conditional) -> Value:
    condition = of_kind(e.vector(x.condition), "bool")
    if len(condition) == 1 and condition.constant:
        return e.evaluate(x.yes if condition.constant[0] else x.no)
    yes, no = e.evaluate(x.yes), e.evaluate(x.no)
    e.graph.at = x.at
    if isinstance(yes, Vector) and isinstance(no, Vector):
        return e.graph.select(condition, yes, no)
    return e.select(condition, yes, e.convert(no, type_of(yes), x.at))


def _index(e: Expressions, x: c.Index) -> Value:
    base = e.evaluate(x.base)
    if isinstance(base, Indexed):
        items = x.index.items if isinstance(x.index, c.Comma) else (x.index,)
        index = e.graph.join(*map(e.vector, items))
        e.graph.at = x.at
        return base.index(index)
    return taken(base, e.step(base, x))


def _member(e: Expressions, x: c.Member) -> Value:
    base = e.evaluate(x.base)
    return taken(base, e.step(base, x))


def _number(e: Expressions, x: c.Number) -> Value:
    kind = "int" if isinstance(x.value, int) and "f" not in x.suffix else "float"
    return e.graph.numbers(float(x.value), kind={"h": "half", "x": "fixed"}.get(x.suffix, kind))


def _cast(e: Expressions, x: c.Cast) -> Value:
    kind = e.type_of(c.Declaration(x.type, "", x.type.pointers, x.type.dimensions, at=x.at))
    value = e.evaluate(x.operand)
    if isinstance(value, Vector) and len(value) == 1:  # HLSL's (struct) 0
        return built(kind, lambda part, _: e.convert(value, part, x.at))
    return e.convert(value, kind, x.at)


def _refused(_: Expressions, x: c.Expression) -> Value:
    raise Fault("this has no meaning in a kernel", "expected numbers", x.at)


_EVALUATE: Mapping[type, Callable[[Any, Any], Value | None]] = {
    c.Number: _number,
    c.Name: lambda e, x: e.values[e.find(x)],
    c.Unary: _unary,
    c.Postfix: lambda e, x: e.increment(x)[0],
    c.Binary: _binary,
    c.Conditional: _conditional,
    c.Assign: _assign,
    c.Comma: lambda e, x: [e.evaluate(item) for item in x.items][-1],
    c.Index: _index,
    c.Member: _member,
    c.Call: lambda e, x: e.call(x),  # a subclass's
    c.Cast: _cast,
}
