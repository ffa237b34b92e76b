"""Expressions, evaluated on a graph: names, operators, members, indices, conversions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isfinite
from operator import add, and_, ge, gt, le, lt, mul, or_, sub, xor
from typing import Any, cast

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.diagnostics import meant
from gpgpu_legacy.languages.shading.graph import Fault, Graph, Vector, widest
from gpgpu_legacy.languages.shading.types import (
    BUILT_IN,
    GENERIC,
    ArrayType,
    Indexed,
    SamplerType,
    StructType,
    Type,
    extents,
    implements,
    is_matrix,
    is_open,
    leaves,
    length,
    matrix,
    selected,
    size,
)

_LONGEST_ARRAY = 4096
_MOST_CASES = 64
"""The most elements from which an assignment chooses by an index that depends on data."""

_MOST_NUMBERS = 2**16
"""The most numbers of one value, such as an array of matrices."""


@dataclass(eq=False)
class ShaderVariable:
    """A declared name. Its value, whose type never changes, is in the evaluator's `values`."""

    name: str
    is_constant: bool


@frozen
class Assignable:
    """A part of a variable that can be assigned to.

    parts: conditions, each with a vector whose literals are positions in the variable. An index
    that depends on data gives several; else there is one, with the condition 1.
    """

    variable: ShaderVariable
    parts: Sequence[tuple[Vector, Vector]]
    at: Span

    @property
    def type(self) -> Type:
        """The type of each part."""
        return self.parts[0][1].type


class Expressions:
    """Evaluates expressions. `evaluate` is its entry; a subclass evaluates calls.

    built_in: the types that the language defines.
    """

    built_in: Mapping[str, Type] = BUILT_IN

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.types = dict(self.built_in)
        self.scopes: list[dict[str, ShaderVariable]] = [{}]
        self.values: dict[ShaderVariable, Vector] = {}
        self.methods: dict[str, tuple[c.Function, ...]] = {}
        """The methods of structs and interfaces, by the type's name."""

    def evaluate(self, expression: c.Expression) -> Vector:
        """The value of an expression."""
        self.graph.at = expression.at
        method = getattr(self, f"_{type(expression).__name__.lower()}", self._refuse)
        value: Vector | None = method(expression)
        if value is None:
            raise Fault("a void function has no value; call it as a statement", expression.at)
        return value

    def vector(self, expression: c.Expression) -> Vector:
        """The value of an expression that must be a scalar or a vector."""
        return self.as_vector(self.evaluate(expression), expression.at)

    def as_vector(self, value: Vector, at: Span) -> Vector:
        """The value, if it is a vector."""
        if value.shape is None:
            return value
        raise Fault(f"this is {described(value)}; expected a number or a vector", at)

    def scalar(self, expression: c.Expression, kind: str) -> Vector:
        """The value of an expression that must be one number, converted."""
        value = self.vector(expression)
        if len(value) != 1:
            raise Fault(f"this is {described(value)}; expected one number", expression.at)
        return of_kind(value, kind)

    def known(self, expression: c.Expression, what: str) -> int:
        """The value of an expression that must be an integer known at compile time."""
        numbers = self.scalar(expression, "int").constant
        if numbers is None or not isfinite(numbers[0]):
            raise Fault(
                f"{what} {'depends on data' if numbers is None else 'is infinite'}; "
                "expected an integer that is known when the program is compiled",
                expression.at,
            )
        return int(numbers[0])

    # Names ----------------------------------------------------------------------------------------

    def find(self, name: c.Name) -> ShaderVariable:
        """The variable of a name; `this`, if it is a field's."""
        for scope in reversed(self.scopes):
            if name.name in scope:
                return scope[name.name]
        known = [n for scope in reversed(self.scopes) for n in scope]
        expected = meant(name.name, known) or "declare it first"
        raise Fault(f"{name.name} is not declared; {expected}", name.at)

    def _whole(self, name: c.Name, variable: ShaderVariable, value: Vector) -> Vector:
        """A variable's value, or the field of `this` that the name stands for."""
        if variable.name == name.name:
            return value
        return self.part(value, c.Member(name, name.name, at=name.at))

    def declare(self, name: str, value: Vector, *, constant: bool = False) -> ShaderVariable:
        """A new variable in the innermost scope."""
        variable = self.scopes[-1][name] = ShaderVariable(name, constant)
        self.values[variable] = value
        return variable

    def type_of(self, declaration: c.Declaration) -> Type:
        """The type that a declaration gives its name."""
        if declaration.pointers:
            raise Fault(
                f"{declaration.name or 'this'} is a pointer; kernels have arrays and no pointers",
                declaration.at,
            )
        kind = self.type_named(declaration.type)
        for dimension in reversed(declaration.dimensions):
            length = None if dimension is None else self.known(dimension, "this length")
            if length is not None and not 0 < length <= _LONGEST_ARRAY:
                raise Fault(
                    f"{declaration.name} has {length} elements; "
                    f"an array has 1 to {_LONGEST_ARRAY} elements",
                    declaration.at,
                )
            kind = ArrayType(kind, length)
        if size(kind) > _MOST_NUMBERS:
            raise Fault(
                f"{declaration.name} is too large; a value has at most {_MOST_NUMBERS} numbers",
                declaration.at,
            )
        return kind

    def type_named(self, name: c.TypeName) -> Type:
        """The type of a name."""
        own = GENERIC if name.at.file == c.BEFORE else {}
        kind = own.get(name.name) or self.types.get(name.name)
        if kind is None:
            expected = meant(name.name, self.types) or "define it first"
            raise Fault(f"{name.name} is not a type; {expected}", name.at)
        return kind

    # Structs --------------------------------------------------------------------------------------

    def sized(self, d: c.Declaration) -> Type:
        """The type of a declaration; Fault for a type without a size."""
        kind = self.type_of(d)
        if is_open(kind):
            raise Fault(f"{d.name} is {kind}; give it a type with a size", d.at)
        return kind

    def methods_of(self, value: Vector) -> list[c.Function]:
        """A value's methods."""
        return [m for m in self.methods.get(getattr(value.type, "name", ""), ()) if m.body]

    def _do_struct(self, struct: c.Struct) -> None:
        for field in struct.fields:
            if field.value is not None:
                raise Fault(f"{field.name} is a field; only a variable has a value", field.at)
        base = self.types.get(struct.base)
        if struct.base and not implements(base, base):
            raise Fault(
                f"{struct.base} is no interface; a struct has an interface after its colon",
                struct.at,
            )
        types = tuple(map(self.type_of, struct.fields))
        interface = struct.name if struct.is_interface else struct.base
        self.types[struct.name] = StructType(struct.name, struct.fields, types, interface)
        self.methods[struct.name] = struct.methods

    # Conversions ----------------------------------------------------------------------------------

    def convert(self, value: Vector, kind: Type, at: Span) -> Vector:
        """A value as another type: scalars smear, longer vectors and matrices lose their ends."""
        own = value.type
        if kind in (own, GENERIC["value"]) or isinstance(own, Indexed) or implements(own, kind):
            return value
        if kind.kind in GENERIC:
            vector = self.as_vector(value, at)
            is_real = kind.kind == "real" and vector.kind in _WHOLE
            return vector.of("float") if is_real else vector
        if numbers := _fitting(own, kind):
            return self.graph.built(kind, [of_kind(value[numbers], kind.kind)])
        match own, kind:
            case (SamplerType(None), SamplerType()) | (SamplerType(), SamplerType(None)):
                return replace(value, shape=kind if kind.target else own)
            case ArrayType(), ArrayType() if kind.length in (None, own.length):
                items = [self.convert(value.item(n), kind.item, at) for n in range(length(own))]
                return self.graph.built(replace(own, item=items[0].type), items)
        raise Fault(f"{described(value)} cannot become {kind}; expected {kind}", at)

    def constructed(self, kind: Type, values: Sequence[Vector], at: Span) -> Vector:
        """The value of `float4(…)` or of a braced initialiser: its numbers in order."""
        is_list = isinstance(kind, StructType | ArrayType) and not is_matrix(kind)
        if len(values) == 1 and not is_list:
            return self.convert(values[0], kind, at)
        numbers = [x for v in values for part in v.leaves() for x in self.as_vector(part, at)]
        if isinstance(kind, ArrayType) and kind.length is None:
            kind = replace(kind, length=len(numbers) // max(1, size(kind.item)))
        if len(numbers) != size(kind):
            raise Fault(f"{kind} is given {len(numbers)} numbers; expected {size(kind)}", at)
        left = iter(numbers)
        parts = [
            of_kind(self.graph.join(*islice(left, size(leaf))), leaf.kind)
            for leaf, _ in leaves(kind)
        ]
        return self.graph.built(kind, parts)

    def initialised(self, value: c.Expression, kind: Type) -> Vector:
        """The value of an initialiser, which may be braced, for a variable of a type."""
        if not isinstance(value, c.Braces):
            return self.convert(self.evaluate(value), kind, value.at)
        return self.constructed(kind, self._braced(value), value.at)

    def _braced(self, value: c.Expression) -> list[Vector]:
        if isinstance(value, c.Braces):
            return [v for item in value.items for v in self._braced(item)]
        return [self.evaluate(value)]

    # Places ---------------------------------------------------------------------------------------

    def place(self, expression: c.Expression) -> Assignable:
        """The part of a variable that an expression names; Fault if it cannot be assigned to."""
        if isinstance(expression, c.Name):
            variable = self.find(expression)
            whole = self.values[variable]
            self.graph.spend(len(whole) >> 11)
            whole = replace(whole, literals=tuple(range(len(whole))))
            part = self._whole(expression, variable, whole)
            always = self.graph.numbers(1, kind="bool")
            return Assignable(variable, [(always, part)], expression.at)
        if not isinstance(expression, c.Member | c.Index):
            raise Fault("this cannot be assigned to; expected a variable", expression.at)
        place, at = self.place(expression.base), expression.at
        if isinstance(expression, c.Member):
            parts = [(case, self.part(part, expression)) for case, part in place.parts]
            return replace(place, parts=parts, at=at)
        number = self.scalar(expression.index, "int")
        indices = [*map(int, number.constant or range(length(place.type)))]
        count = len(indices) * len(place.parts)
        if count > _MOST_CASES and not number.constant:
            raise Fault(
                f"this index depends on data, and chooses from {count} elements; "
                f"at most {_MOST_CASES} can be assigned to so",
                at,
            )
        self.graph.at = at
        parts = [
            (case if number.constant else case & number.equals(k), self.element(part, k, at))
            for case, part in place.parts
            for k in indices
        ]
        return replace(place, parts=parts, at=at)

    def read(self, place: Assignable) -> Vector:
        """The value of a part of a variable."""
        whole = self.values[place.variable]
        cases = [(case, replace(x, literals=whole[x.literals].literals)) for case, x in place.parts]
        (_, chosen), *others = cases
        for case, value in others:
            chosen = self.graph.select(case, value, chosen)
        return chosen

    def write(self, place: Assignable, value: Vector) -> None:
        """Assign a value, converted to the part's type."""
        variable = place.variable
        if variable.is_constant:
            raise Fault(f"{variable.name} is const; only a variable can be assigned to", place.at)
        value = self.convert(value, place.type, place.at)
        for case, part in place.parts:
            numbers, whole, after = part.literals, self.values[variable], value
            if len(set(numbers)) < len(numbers):
                raise Fault("a component is assigned twice; write each component once", place.at)
            self.graph.spend(len(numbers) >> 8)
            if not case.constant:
                before = replace(part, literals=whole[numbers].literals)
                after = self.graph.select(case, value, before)
            literals = [*whole.literals]
            for number, literal in zip(numbers, after.literals, strict=True):
                literals[number] = literal
            self.values[variable] = replace(whole, literals=tuple(literals))

    def part(self, value: Vector, x: c.Member) -> Vector:
        """The part of a value that `.name` selects."""
        kind = value.type
        fields = [f.name for f in kind.fields] if isinstance(kind, StructType) else []
        self.graph.spend(len(fields) >> 7)
        if x.name in fields:
            return value.item(fields.index(x.name))
        numbers = selected(kind, x.name)
        if not numbers:
            expected = f"it has {', '.join(fields) or 'no such component'}"
            expected = meant(x.name, fields, ".") or expected
            raise Fault(f"{described(value)} has no .{x.name}; {expected}", x.at)
        return value[numbers]

    def element(self, value: Vector, number: int, at: Span) -> Vector:
        """The item or component of that number."""
        count = length(value.type)
        if not count:
            self.as_vector(value, at)
        if not 0 <= number < count:
            raise Fault(f"index {number} is outside; expected 0 to {count - 1}", at)
        return value.item(number)

    # Operators ------------------------------------------------------------------------------------

    def operate(self, operator: str, a: Vector, b: Vector, at: Span) -> Vector:
        """Apply an operator to two values; to matrices, element by element."""
        self.graph.at = at
        kind = next((value.type for value in (a, b) if is_matrix(value.type)), None)
        if kind is not None:
            kind = matrix(widest(self.flat(a, at), self.flat(b, at)), *extents(kind))
            a, b = self.convert(a, kind, at), self.convert(b, kind, at)
        a, b = self.flat(a, at), self.flat(b, at)
        if operator in "+-*/%":
            a, b = _number_of(a), _number_of(b)
        return replace(_OPERATORS[operator](a, b), shape=kind)

    def flat(self, value: Vector, at: Span) -> Vector:
        """The numbers of a vector or a matrix."""
        return value.of(value.kind) if is_matrix(value.type) else self.as_vector(value, at)

    # Each kind of expression ---------------------------------------------------------------------

    def _binary(self, x: c.Binary) -> Vector:
        left = self.evaluate(x.left)
        if x.operator in ("&&", "||") and not left.shape and len(left) == 1:
            known = of_kind(left, "bool").constant
            if known is not None and bool(known[0]) == (x.operator == "||"):
                return self.graph.numbers(*known, kind="bool")
        return self.operate(x.operator, left, self.evaluate(x.right), x.at)

    def _unary(self, x: c.Unary) -> Vector:
        value = self.evaluate(x.operand)
        match x.operator:
            case "-":
                return replace(-_number_of(self.flat(value, x.at)), shape=value.shape)
            case "!":
                return ~of_kind(self.as_vector(value, x.at), "bool")
            case "~":
                return self.operate("^", value, self.graph.numbers(-1, kind="int"), x.at)
            case "+":
                return value
        raise Fault(f"{x.operator} makes a pointer; kernels have arrays and no pointers", x.at)

    def _assign(self, x: c.Assign) -> Vector:
        place = self.place(x.target)
        is_braced = isinstance(x.value, c.Braces)
        value = self.initialised(x.value, place.type) if is_braced else self.evaluate(x.value)
        if x.operator != "=":
            value = self.operate(x.operator[:-1], self.read(place), value, x.at)
        self.graph.at = x.at
        self.write(place, value)
        return self.read(place)

    def _conditional(self, x: c.Conditional) -> Vector:
        condition = of_kind(self.vector(x.condition), "bool")
        if len(condition) == 1 and condition.constant:
            return self.evaluate(x.yes if condition.constant[0] else x.no)
        yes, no = self.evaluate(x.yes), self.evaluate(x.no)
        self.graph.at = x.at
        if yes.shape or no.shape:
            no = self.convert(no, yes.type, x.at)
        return self.graph.select(condition, yes, no)

    def _index(self, x: c.Index) -> Vector:
        base = self.evaluate(x.base)
        if isinstance(base.shape, Indexed):
            items = x.index.items if isinstance(x.index, c.Comma) else (x.index,)
            index = self.graph.join(*map(self.vector, items))
            self.graph.at = x.at
            return cast(Vector, base.shape.index(index))
        number = self.scalar(x.index, "int")
        if number.constant:
            return self.element(base, int(number.constant[0]), x.at)
        self.graph.at, chosen = x.at, self.element(base, 0, x.at)
        for k in range(
            1, length(base.type)
        ):  # as Microsoft's compiler reads what chips cannot index
            chosen = self.graph.select(number >= k, base.item(k), chosen)
        return chosen

    def _number(self, x: c.Number) -> Vector:
        kind = "int" if isinstance(x.value, int) and "f" not in x.suffix else "float"
        kind = {"h": "half", "x": "fixed"}.get(x.suffix, kind)
        return self.graph.numbers(float(x.value), kind=kind)

    def _cast(self, x: c.Cast) -> Vector:
        kind = self.type_of(x.type)
        value = self.evaluate(x.operand)
        if not value.shape and len(value) == 1:  # HLSL's (struct) 0
            parts = [self.convert(value, leaf, x.at) for leaf, _ in leaves(kind)]
            return self.graph.built(kind, parts)
        return self.convert(value, kind, x.at)

    def _refuse(self, x: c.Expression | c.Statement) -> Any:
        raise Fault(
            f"{type(x).__name__.lower()} cannot be compiled; expected numbers, if, else and loops",
            x.at,
        )

    def _name(self, x: c.Name) -> Vector:
        variable = self.find(x)
        return self._whole(x, variable, self.values[variable])

    def _postfix(self, x: c.Postfix) -> Vector:
        before = self.evaluate(x.assignment.target)
        self._assign(x.assignment)
        return before

    def _comma(self, x: c.Comma) -> Vector:
        return [self.evaluate(item) for item in x.items][-1]

    def _member(self, x: c.Member) -> Vector:
        return self.part(self.evaluate(x.base), x)


def _fitting(own: Type, kind: Type) -> list[int]:
    """The positions of the numbers that a conversion takes; empty if there is no conversion."""
    (high, wide), (rows, columns) = extents(own), extents(kind)
    if high * wide == 1:
        return [0] * (rows * columns)
    if rows <= high and columns <= wide and is_matrix(own) is is_matrix(kind):
        return [wide * r + c for r in range(rows) for c in range(columns)]
    return [*range(rows * columns)] if rows * columns == high * wide else []


def described(value: Vector) -> str:
    """A value's type, for messages."""
    return f"{'an' if str(value.type)[0] in 'aeiou' else 'a'} {value.type}"


# Operators of vectors -----------------------------------------------------------------------------

_WHOLE = {"bool", "int"}


def of_kind(value: Vector, kind: str) -> Vector:
    """Numbers as another kind: an int has no fraction; a bool is 1 for any number but 0."""
    if kind == "int" and value.kind not in _WHOLE:
        value = _signed(value, value.graph.op("FLR", value.graph.op("ABS", value)))
    if kind == "bool" and value.kind != "bool":
        value = ~value.equals(0.0)
    return value.of(kind)


def _signed(value: Vector, magnitude: Vector) -> Vector:
    """A magnitude with the sign of a value."""
    return value.graph.select(value < 0.0, -magnitude, magnitude)


def _quotient(a: Vector, b: Vector) -> Vector:
    """The quotient a / b; for ints, without its fraction.

    A half is added to an int's magnitude first, so that an inexact reciprocal does not take the
    quotient below a whole number; magnitudes below 2^22 come out right.
    """
    if not {a.kind, b.kind} <= _WHOLE:
        return a / b
    g = a.graph
    magnitude = g.op("FLR", (g.op("ABS", a) + 0.5) * g.op("RCP", g.op("ABS", b)))
    below = a * b if b.constant is None else a if min(b.constant) > 0 else -a
    return _signed(below, magnitude).of("int")


def _remainder(a: Vector, b: Vector) -> Vector:
    """The remainder a % b, with the sign of a; for floats, fmod."""
    if {a.kind, b.kind} <= _WHOLE:
        return a - b * _quotient(a, b)
    g = a.graph
    return _signed(a, g.op("FRC", g.op("ABS", a / b)) * g.op("ABS", b))


def _bits(operate: Callable[[int, int], int]) -> Callable[[Vector, Vector], Vector]:
    def known(a: Vector, b: Vector) -> Vector:
        if (
            not a.constant
            or not b.constant
            or not {a.kind, b.kind} <= _WHOLE
            or not isfinite(a.constant[0] + b.constant[0])
        ):
            raise Fault(
                "this operator works on bits; "
                "only integers that are known when the program is compiled have bits",
                a.graph.at,
            )
        return a.graph.numbers(operate(int(a.constant[0]), int(b.constant[0])), kind="int")

    return known


def _number_of(value: Vector) -> Vector:
    """The value; a bool becomes an int."""
    return value.of("int") if value.kind == "bool" else value


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
