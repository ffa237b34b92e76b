"""The IR's expressions: typed values, of programs, kernels and the machine's fixed parts.

Every expression knows its type, the axes along which it varies, and, if it is a sum or a product,
whether it may be contracted with another.

At first a lookup is a Texel at a known position or a call of a lookup function; in a program that
is translated by itself it is a Sample. Parameters and attributes are Given. A target replaces these
by elements of buffers and shared arrays, integers that address them, loops and barriers. Those are
expressions and statements, too.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import partial, reduce
from operator import add, mul, sub
from typing import Any, Generic, TypeVar

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.opcodes import Symbol
from gpgpu_legacy.isa.program import Attribute, Parameter, TextureSource
from gpgpu_legacy.isa.types import (
    ALONG_X,
    ALONG_Y,
    BOOL,
    EVERYWHERE,
    INT,
    NOWHERE,
    RESULT_KINDS,
    UINT,
    VEC4,
    Axes,
    Components,
    Kind,
    Operator,
    Type,
    type_of,
    union,
)

Known = TypeVar("Known")
"""A target's record of where a texel lies."""

_CONTRACTED = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY})
_NAMES = {operator.value: operator for operator in Operator}


# Expressions ---------------------------------------------------------------------------------


class Expression(Symbol):
    """A value, with the operators that isa/opcodes.py uses.

    operands: its subexpressions.
    """

    __slots__ = ()

    type: Type
    axes: Axes
    operands: tuple[Expression, ...]

    def operate(self, name: str, operands: tuple[Any, ...]) -> Expression:
        """The operation with that NumPy name."""
        return operation(_NAMES[name], *operands)


class Leaf(Expression):
    """A value without operands."""

    __slots__ = ()

    operands = ()


class Selection(Leaf):
    """Components of a vector of four floats."""

    __slots__ = ()

    components: Components

    @property
    def type(self) -> Type:  # type: ignore[override]
        """A float for each component."""
        return type_of(Kind.FLOAT, len(self.components))


@frozen
class Composite(Expression):
    """A value with operands."""

    operands: tuple[Expression, ...]

    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:
        """The same value with other operands, of the same types and axes."""
        return replace(self, operands=operands)


class Joined(Composite):
    """A value that varies as its operands do."""

    __slots__ = ()

    @property
    def axes(self) -> Axes:  # type: ignore[override]
        """The axes of the operands."""
        return union(operand.axes for operand in self.operands)


@frozen
class Constant(Leaf):
    """Constants in the code."""

    values: tuple[float | int | bool, ...]
    type: Type
    axes: Axes = NOWHERE


class Role(Enum):
    """The role of a variable."""

    TEMPORARY = "temporary"
    RESULT = "result"
    ATTRIBUTE = "attribute"
    OWN = "own texel"  # of the surface of that number, kept from pass to pass
    UNIFORM = "uniform"  # the same in all invocations, given to the code by a run
    LOCAL = "local"


@frozen
class Variable:
    """A variable: a register of a program, or a name of the emitter.

    name: a register's name in the program, a result's, or the emitter's. number: tells variables of
    one name apart. corner: the corner of the fragment's quad that has the register, 1 to 3; 0 for
    the fragment itself. row, column: the fragment's place in the register tile; None for an axis
    along which the variable does not vary.
    """

    name: str
    type: Type = VEC4
    role: Role = Role.LOCAL
    number: int = 0
    corner: int = 0
    row: int | None = None
    column: int | None = None

    def __hash__(self) -> int:
        """A hash of the fields that distinguish most variables: they are keys of many dicts."""
        return hash((self.name, self.number, self.corner, self.row, self.column))


@frozen
class Read(Selection):
    """Components of a variable, in this order."""

    variable: Variable
    components: Components
    axes: Axes = NOWHERE

    @property
    def type(self) -> Type:  # type: ignore[override]
        """A number of the variable's kind for each component."""
        return type_of(self.variable.type.kind, len(self.components))


@frozen
class PlanePart:
    """An attribute's plane over the rectangle. part: 0 for its base, 1 for dx, 2 for dy."""

    attribute: Attribute
    part: int


class Place(Enum):
    """The positions of the fragment and of its rectangle."""

    CENTRE = "the fragment's centre, relative to the rectangle"
    ORIGIN = "the rectangle's lower left in its target"
    WINDOW = "the fragment's window coordinates, as the rasteriser gives them"


@frozen
class Given(Selection):
    """Components of a value that a pass gives: a parameter, a vector of state, a plane, a position.

    draw: the number of the pass among the draws of the code.
    """

    source: Parameter | PlanePart | Place
    components: Components
    draw: int = 0

    @property
    def axes(self) -> Axes:  # type: ignore[override]
        """Positions vary; all other values that a pass gives are the same everywhere."""
        if self.source is Place.CENTRE:
            return union((ALONG_X, ALONG_Y)[component] for component in self.components)
        return EVERYWHERE if self.source is Place.WINDOW else NOWHERE


class BuiltIn(Enum):
    """The built-in variables that differ between invocations; each is a vector of three uints."""

    WORK_GROUP_ID = "gl_WorkGroupID"
    LOCAL_INVOCATION_ID = "gl_LocalInvocationID"
    GLOBAL_INVOCATION_ID = "gl_GlobalInvocationID"


@frozen
class Invocation(Leaf):
    """A component of a built-in vector of a kernel. axis: 0 for x, 1 for y, 2 for z."""

    built_in: BuiltIn
    axis: int
    type: Type = UINT
    axes: Axes = EVERYWHERE


@frozen
class Texel(Selection, Generic[Known]):
    """Components of a texel at a known position, as a lookup returns them.

    lookup: gives the position: an AffineLookup in fused passes, a FoldedLookup in drawn ones.
    advance: the texels by which it moves right and up from trip to trip of the enclosing loop.
    """

    lookup: Known
    components: Components
    axes: Axes
    advance: tuple[int, int] = (0, 0)


@frozen
class Fetch(Joined):
    """The texel of a texture at a column and a row, its operands: whole numbers inside the texture.

    texture: a number that the target assigns. A third operand is the layer of a layered texture.
    """

    texture: int
    type: Type = VEC4


@frozen
class Sample(Joined):
    """Components of a lookup by a texture's own sampler. Operands: s, t, r and the LOD bias."""

    texture: TextureSource
    components: Components
    type = Selection.type


@frozen
class Operation(Composite):
    """An operation on expressions.

    contracts: whether it may be rounded once together with another.
    """

    operator: Operator
    type: Type
    axes: Axes
    contracts: bool = False

    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:
        """The same operation on other operands, of the same types and axes."""
        return Operation(operands, self.operator, self.type, self.axes, self.contracts)


@frozen
class Choice(Joined):
    """The second operand where the first, a condition, holds, else the third.

    Only the one that is chosen is evaluated: `&&` is a choice whose third operand is false, and
    `||` one whose second is true.
    """

    @property
    def type(self) -> Type:  # type: ignore[override]
        """The type of the second and the third operand."""
        return self.operands[1].type


@frozen
class Swizzle(Joined):
    """Components of a vector, its only operand, in this order."""

    components: Components

    @property
    def type(self) -> Type:  # type: ignore[override]
        """The operand's kind, for each component."""
        return type_of(self.operands[0].type.kind, len(self.components))


@frozen
class Compose(Joined):
    """A vector of expressions of one component each."""

    @property
    def type(self) -> Type:  # type: ignore[override]
        """The operands' kind, for each of them."""
        return type_of(self.operands[0].type.kind, len(self.operands))


@frozen
class Array:
    """Memory: a storage buffer, or a shared array of a work group.

    extents: the length of a shared array along each dimension; empty for a buffer.
    """

    name: str
    element: Type
    extents: tuple[int, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether a work group shares it."""
        return bool(self.extents)


@frozen
class Element(Joined):
    """An element of an array, at the indices that are its operands.

    line: the access's line in a kernel's text. number: the access's number, from `numbered`.
    is_inside: whether a proof for one dispatch shows that the element is inside the array.
    """

    array: Array
    line: int = field(default=0, compare=False, repr=False)
    number: int = field(default=0, repr=False)
    is_inside: bool = field(default=False, repr=False)

    @property
    def type(self) -> Type:  # type: ignore[override]
        """The type of the array's elements."""
        return self.array.element


# Making expressions ----------------------------------------------------------------------------


def constant(value: float, kind: Kind = Kind.FLOAT) -> Constant:
    """A number as an expression."""
    return Constant((value,), type_of(kind, 1))


def integer(number: int) -> Constant:
    """An integer as an expression."""
    return constant(number, Kind.INT)


def read(variable: Variable, axis: int | None = None, axes: Axes = NOWHERE) -> Read:
    """A variable, or one of its components."""
    every = tuple(range(variable.type.width)) if axis is None else (axis,)
    return Read(variable, every, axes)


def expression(value: Any, kind: Kind = Kind.FLOAT) -> Expression:
    """An expression as it is, or a number as a constant of that kind."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool):
        return Constant((value,), BOOL)
    return constant(int(value) if kind is Kind.INT else float(value), kind)


def operation(operator: Operator, *operands: Any) -> Expression:
    """An operation on expressions and numbers, simplified where that is exact.

    All vectors have the same width; a number goes with any.
    """
    kind = _kind(operands[1:] if operator is Operator.SELECT else operands)
    parts = tuple([o if isinstance(o, Expression) else expression(o, kind) for o in operands])
    if operator is Operator.NEGATE and isinstance(parts[0], Constant):
        return Constant(tuple(-value for value in parts[0].values), parts[0].type)
    if operator is Operator.MINIMUM and kind is Kind.FLOAT:
        return _minimum(*parts)
    if kind is Kind.FLOAT and (known := _known(operator, parts)) is not None:
        return known
    if operator is Operator.OR and parts[1] in _alternatives(parts[0]):
        return parts[0]  # KIL of a scalar tests it four times
    if kind is Kind.INT and (simple := _simplified(operator, parts)) is not None:
        return simple
    width, axes = 1, NOWHERE
    for operand in parts:
        width, axes = max(width, operand.type.width), axes | operand.axes
    contracts = operator in _CONTRACTED and kind is Kind.FLOAT
    return Operation(
        parts, operator, type_of(RESULT_KINDS.get(operator, kind), width), axes, contracts
    )


def all_of(conditions: Sequence[Expression]) -> Expression:
    """Whether all of these hold."""
    return reduce(partial(operation, Operator.AND), conditions)


def _alternatives(value: Expression) -> Iterator[Expression]:
    """The conditions that a disjunction joins."""
    if isinstance(value, Operation) and value.operator is Operator.OR:
        for operand in value.operands:
            yield from _alternatives(operand)
    else:
        yield value


def _kind(operands: tuple[Any, ...]) -> Kind:
    """The kind of the expressions among operands."""
    for operand in operands:
        if isinstance(operand, Expression):
            return operand.type.kind
    return Kind.FLOAT


FOLDED = {Operator.ADD: add, Operator.SUBTRACT: sub, Operator.MULTIPLY: mul}
"""The operations that are computed of constants."""


def _known(operator: Operator, operands: tuple[Expression, ...]) -> Constant | None:
    """The result, if all operands are numbers and float32 holds it exactly; else None.

    Mesa would fold operations that are left, even on uniforms, and lose the signs of zeros.
    """
    numbers = [o.values[0] for o in operands if isinstance(o, Constant) and o.type.width == 1]
    if operator not in FOLDED or len(numbers) < len(operands):
        return None
    result = FOLDED[operator](*numbers)
    return constant(result) if array("f", [result])[0] == result else None


def _minimum(a: Expression, b: Expression) -> Expression:
    """The smaller of two, or NaN if a is NaN. A choice suffices, since b is a positive number."""
    assert isinstance(b, Constant), "NaN on both sides"
    assert min(b.values) > 0.0, "zeros of either sign"
    return operation(Operator.SELECT, operation(Operator.LESS, b, a), b, a)


def _simplified(operator: Operator, operands: tuple[Expression, ...]) -> Expression | None:
    """The sum or product of whole numbers, if it can be simplified or ordered; else None.

    Sums are ordered from the left with the number last, so that texels at a constant distance
    differ only in that number, and drivers address them by an offset.
    """
    if operator not in (Operator.ADD, Operator.MULTIPLY) or operands[0].type.width > 1:
        return None
    left, right = operands
    if isinstance(left, Constant):
        left, right = right, left
    if operator is Operator.ADD and not isinstance(right, Constant):
        return _left_sum(left, right)
    if not isinstance(right, Constant):
        return None
    (number,) = right.values
    if isinstance(left, Constant):
        total = left.values[0] + number if operator is Operator.ADD else left.values[0] * number
        return Constant((total,), INT)
    if operator is Operator.MULTIPLY and number == 0:
        return right
    neutral = 0 if operator is Operator.ADD else 1
    return left if number == neutral else None


def _left_sum(left: Expression, right: Expression) -> Expression | None:
    """The sum of two, if one of them is a sum that can be split; else None."""
    if _is_sum(right):
        first, second = right.operands
        whole: Expression = left + first + second
        return whole
    if _is_sum(left) and isinstance(left.operands[1], Constant):
        rest, number = left.operands
        last: Expression = rest + right + number
        return last
    return None


def _is_sum(value: Expression) -> bool:
    return isinstance(value, Operation) and value.operator is Operator.ADD


def compose(parts: Iterable[Any]) -> Expression:
    """A vector of expressions and numbers of one component each. A single part stays as it is."""
    joined = tuple(map(expression, parts))
    if len(joined) == 1:
        return joined[0]
    constants = [part.values[0] for part in joined if isinstance(part, Constant)]
    if len(constants) == len(joined):
        return Constant(tuple(constants), type_of(joined[0].type.kind, len(joined)))
    return Compose(joined)


def component(vector: Expression, index: int) -> Expression:
    """One component of a vector."""
    return components(vector, (index,))


def components(  # noqa: PLR0911 - a case each
    vector: Expression, wanted: Components
) -> Expression:
    """Components of a vector, in this order. A number stays as it is."""
    width = vector.type.width
    if width == 1 or wanted == tuple(range(width)):
        return vector
    match vector:
        case Constant(values=numbers):
            values = tuple(numbers[c] for c in wanted)
            return Constant(values, type_of(vector.type.kind, len(wanted)))
        case Read(variable=variable, components=old, axes=axes):
            return Read(variable, tuple(old[c] for c in wanted), axes)
        case Given() | Texel() | Sample():
            return replace(vector, components=tuple(vector.components[c] for c in wanted))
        case Compose(operands=parts):
            return compose(parts[c] for c in wanted)
        case Swizzle(components=old):
            return Swizzle(vector.operands, tuple(old[c] for c in wanted))
        case Operation(operands=operands):  # every operation works on components
            parts = tuple(components(operand, wanted) for operand in operands)
            kind = type_of(vector.type.kind, len(wanted))
            return replace(vector, operands=parts, type=kind)
        case _:
            return Swizzle((vector,), wanted)
