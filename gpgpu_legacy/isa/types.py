"""Types of the lowering IR's values, the axes along which they vary, and operators."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

Components = tuple[int, ...]
"""Components of a vector, each 0 to 3."""


class Kind(Enum):
    """The kinds of number, by GLSL's names. FLOAT is float32, INT and UINT have 32 bits."""

    FLOAT = "float"
    INT = "int"
    BOOL = "bool"
    UINT = "uint"
    DOUBLE = "double"

    __hash__ = object.__hash__  # members are keys of many dicts


DTYPES = {
    Kind.BOOL: "bool_",
    Kind.INT: "int32",
    Kind.UINT: "uint32",
    Kind.FLOAT: "float32",
    Kind.DOUBLE: "float64",
}
"""NumPy's name for a kind of number."""


class Type(NamedTuple):
    """A number, or a vector of 2 to 4 of them."""

    kind: Kind
    width: int = 1

    @property
    def is_integer(self) -> bool:
        """Whether it is an int or a uint."""
        return self.width == 1 and self.kind in (Kind.INT, Kind.UINT)

    @property
    def is_floating(self) -> bool:
        """Whether it is of floats or doubles."""
        return self.kind in (Kind.FLOAT, Kind.DOUBLE)

    @property
    def size_bytes(self) -> int:
        """The size in memory, in bytes."""
        return self.width * (8 if self.kind is Kind.DOUBLE else 4)

    @property
    def word(self) -> str:
        """GLSL's name for the type."""
        return self.kind.value if self.width == 1 else f"{_PREFIXES[self.kind]}vec{self.width}"


_PREFIXES = {Kind.FLOAT: "", Kind.INT: "i", Kind.BOOL: "b", Kind.UINT: "u", Kind.DOUBLE: "d"}
_TYPES = {kind: tuple(Type(kind, width) for width in range(5)) for kind in Kind}


def type_of(kind: Kind, width: int) -> Type:
    """The type of that many numbers of a kind."""
    return _TYPES[kind][width]


FLOAT, INT, BOOL, UINT, DOUBLE = (type_of(kind, 1) for kind in Kind)
VEC4, IVEC2 = type_of(Kind.FLOAT, 4), type_of(Kind.INT, 2)


class Axes(NamedTuple):
    """Whether a value differs from column to column, along x, and from row to row, along y."""

    x: bool
    y: bool

    def __or__(self, other: tuple[Any, ...]) -> Axes:
        """The axes of a value computed from both."""
        if self is other:
            return self
        return _ALL[(self.x or other[0]) + 2 * (self.y or other[1])]


NOWHERE, ALONG_X, ALONG_Y, EVERYWHERE = (
    Axes(False, False),
    Axes(True, False),
    Axes(False, True),
    Axes(True, True),
)
_ALL = (NOWHERE, ALONG_X, ALONG_Y, EVERYWHERE)


def union(axes: Iterable[Axes]) -> Axes:
    """The axes of a value computed from all."""
    total = NOWHERE
    for one in axes:
        total = total | one
    return total


class Operator(Enum):
    """The operations. The values are NumPy's names, if it has the operation."""

    ADD = "add"
    SUBTRACT = "subtract"
    MULTIPLY = "multiply"
    DIVIDE = "divide"
    NEGATE = "negative"
    ABSOLUTE = "absolute"
    FLOOR = "floor"
    SQRT = "sqrt"
    EXP = "exp"
    EXP2 = "exp2"
    LOG2 = "log2"
    POWER = "power"  # for bases that are not negative
    SIN = "sin"
    COS = "cos"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    LESS = "less"
    LESS_EQUAL = "less_equal"
    GREATER = "greater"
    GREATER_EQUAL = "greater_equal"
    EQUAL = "equal"
    NOT_EQUAL = "not_equal"
    OR = "bitwise_or"
    AND = "bitwise_and"
    NOT = "logical_not"
    IS_NAN = "isnan"
    SELECT = "where"
    REMAINDER = "remainder"  # of whole numbers: the rest of DIVIDE, which rounds towards 0
    SATURATE = "saturate"  # clamped to [0, 1]; in exact code a NaN becomes 0
    ROUND = "round to the registers' format"
    HALF = "half"  # rounded to float16
    TO_INT = "to int"  # of a float that is a whole number
    TO_FLOAT = "to float"
    CONVERT = "convert"  # to the type of the result; a float out of range becomes the nearest

    __hash__ = object.__hash__  # members are keys of many dicts


COMPARISONS = frozenset(
    {Operator.LESS, Operator.LESS_EQUAL, Operator.GREATER, Operator.GREATER_EQUAL}
)
RESULT_KINDS = {
    **dict.fromkeys(COMPARISONS, Kind.BOOL),
    **dict.fromkeys((Operator.OR, Operator.AND, Operator.NOT, Operator.IS_NAN), Kind.BOOL),
    Operator.TO_FLOAT: Kind.FLOAT,
    Operator.TO_INT: Kind.INT,
}
"""The kinds of results that differ from their operands' kind."""
