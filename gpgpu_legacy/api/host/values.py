"""The types and values of the host's C, with Brook's vectors and streams.

Types have the sizes of a 64-bit Unix. Values and places in memory are pieces of Python code, and so
are conversions and arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from math import copysign, inf, isnan, nan
from struct import calcsize, pack, unpack
from typing import Any

from gpgpu_legacy.api.host.memory import HostError
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.languages.c.literals import quotient, remainder, rounded_once


@frozen
class CScalar:
    """A number's type. code: as in the module struct. rank: that of C's conversions."""

    name: str
    code: str
    rank: int

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return calcsize(f"={self.code}")

    align = size

    @property
    def is_float(self) -> bool:
        """Whether it is float or double."""
        return self.code in "fd"

    @property
    def is_truth(self) -> bool:
        """Whether it holds only 0 or 1."""
        return self.name in {"bool", "_Bool"}

    @property
    def is_signed(self) -> bool:
        """Whether an integer type has negative numbers."""
        return self.code.islower()

    def __str__(self) -> str:
        return self.name


@frozen
class Pointer:
    """A pointer; in Python, an int."""

    target: Type
    code = "Q"
    size = align = 8

    def __str__(self) -> str:
        return f"{self.target} *"


@frozen
class CArray:
    """An array."""

    element: Type
    count: int

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.count * self.element.size

    @property
    def align(self) -> int:
        """The alignment of its address."""
        return self.element.align

    def __str__(self) -> str:
        return f"array of {self.element}"


@dataclass(eq=False)
class CStruct:
    """A struct; a value is its address in Python.

    fields: the type and offset of each. lanes: the type of the numbers in float2, int4 and the
    like; None for other structs.
    """

    name: str
    fields: dict[str, tuple[Type, int]] = field(default_factory=dict)
    size: int = 0
    align: int = 1
    lanes: CScalar | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def form(self) -> str:
        """The format of a vector's numbers, as in the module struct."""
        assert self.lanes
        return f"={self.name[-1]}{self.lanes.code}"


@frozen
class CFunction:
    """A function. Its last parameter is void if more values may follow."""

    result: Type
    parameters: tuple[Type, ...]
    size = align = 1

    def __str__(self) -> str:
        return "function"

    @property
    def signature(self) -> str:
        """A text that differs between functions that are called differently."""
        return " ".join(
            getattr(kind, "code", str(kind)) for kind in (self.result, *self.parameters)
        )


@frozen
class StreamType:
    """A stream, an iterator, or a pointer to one: always the object itself in Python."""

    element: str
    size = align = 8

    def __str__(self) -> str:
        return "a stream" if self.element == "void" else f"stream of {self.element}"


Type = CScalar | Pointer | CArray | CStruct | CFunction | StreamType


SCALARS = {
    name: CScalar(name, code, int(rank))
    for name, code, rank in re.findall(
        r"(\w+):(.)(\d)",
        "char:b1 schar:b1 uchar:B1 bool:B1 _Bool:B1 short:h2 ushort:H2 int:i3 uint:I3 long:q4 "
        "ulong:Q4 "
        "size_t:Q4 time_t:q4 clock_t:q4 longlong:q5 ulonglong:Q5 float:f6 float1:f6 double:d7 "
        "int8_t:b1 int16_t:h2 int32_t:i3 int64_t:q4 uint8_t:B1 uint16_t:H2 uint32_t:I3 uint64_t:Q4 "
        "void:B0 FILE:B0",
    )
}
"""The types of numbers with their codes and ranks."""

BY_CODE = {one.code: one for one in reversed(SCALARS.values()) if one.rank in {3, 4, 6, 7}}
INT, LONG, ULONG, FLOAT, DOUBLE = (BY_CODE[code] for code in "iqQfd")
VOID = SCALARS["void"]
ANY_STREAM = StreamType("void")
KERNEL = CFunction(ANY_STREAM, ())
"""A kernel, or the operation of a scatter or a gather; in Python, its name."""


def record(struct: CStruct, fields: dict[str, Type]) -> CStruct:
    """Give a struct its fields, which may point to it; returns the struct."""
    size = 0
    for part, kind in fields.items():
        offset = -(-size // kind.align) * kind.align
        struct.fields[part] = kind, offset
        size, struct.align = offset + kind.size, max(struct.align, kind.align)
    struct.size = -(-size // struct.align) * struct.align
    return struct


VECTORS = {
    f"{name}{n}": record(
        CStruct(f"{name}{n}", lanes=SCALARS[name]), dict.fromkeys("xyzw"[:n], SCALARS[name])
    )
    for name in ("float", "double", "int", "uint", "char", "uchar", "short", "ushort")
    for n in (2, 3, 4)
}


COMPARISONS = {"==", "!=", "<", ">", "<=", ">="}
_OF_FLOATS = {*"+-*/", *COMPARISONS}


@frozen
class Value:
    """An expression's code. is_exact: whether it has its type's range and precision already.

    constant: its number, if that is known.
    """

    code: str
    type: Type
    is_exact: bool = True
    constant: Any = None


@frozen
class Lvalue:
    """Where a value is: an object in memory at the address `code`, or a variable of Python's.

    A function's code is its name in Python. constant: its number, if that never changes.
    """

    code: str
    type: Type
    is_local: bool = False
    constant: Any = None


# What generated code calls ----------------------------------------------------------------------


class JumpSignal(Exception):  # noqa: N818
    """A goto: the block that it leads to, and the number of the label there."""


def rounder() -> Callable[[float], float]:
    """A function that rounds to float32. It keeps a cell, so each program has its own."""
    cell = memoryview(bytearray(4)).cast("f")

    def single(x: float) -> float:
        cell[0] = x
        return cell[0]

    return single


def divided(a: float, b: float) -> float:
    """A quotient of floats; 0/0 is x86's NaN, which has a sign."""
    try:
        return a / b
    except ZeroDivisionError:
        return copysign(inf, a) * copysign(1, b) if a and not isnan(a) else -nan


def whole(x: float, limit: float) -> int:
    """A float as an integer without its fraction; beyond the limit, what x86 gives."""
    return int(x) if -limit <= x < limit else -int(limit)


def unsigned(x: float) -> int:
    """A float as an unsigned 64-bit integer without its fraction."""
    return whole(x - 2.0**63, 2.0**63) + (1 << 63) if x >= 2.0**63 else whole(x, 2.0**63)


FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        JumpSignal,
        divided,
        rounded_once,
        quotient,
        remainder,
        whole,
        unsigned,
        pack,
        unpack,
    )
} | {"inf": inf, "nan": nan, "once": (None,)}


# Values -----------------------------------------------------------------------------------------

_CONSTANT = {**FUNCTIONS, "single": rounder()}


def literal(number: Any, kind: CScalar) -> Value:
    """A number as a value of this type."""
    return folded(Value(repr(number), kind, False))


def settled(value: Value) -> str:
    """The code of a value in the range and precision of its type."""
    kind = value.type
    if value.is_exact or not isinstance(kind, CScalar) or kind.code == "d":
        return value.code
    if kind.is_float:
        return f"single({value.code})"
    half = 1 << 8 * kind.size - 1
    if kind.is_signed:
        return f"(({value.code} + {half} & {2 * half - 1}) - {half})"
    return f"({value.code} & {2 * half - 1})"


def folded(value: Value, *operands: Value) -> Value:
    """The value as a constant, if all its operands are constants."""
    if any(one.constant is None for one in operands) or not isinstance(value.type, CScalar):
        return value
    try:
        number = +eval(settled(value), _CONSTANT)  # an int for a bool
    except ZeroDivisionError:
        return value
    code = repr(number)
    return Value(code if code[0] != "-" else f"({code})", value.type, True, number)


def usual(a: CScalar, b: CScalar) -> CScalar:
    """The type of two numbers after C's usual arithmetic conversions."""
    high, low = (a, b) if a.rank >= b.rank else (b, a)
    if high.rank < INT.rank:
        return INT
    if high.is_float or high.size > low.size or low.is_signed:
        return high
    return BY_CODE[high.code.upper()]


def converted(value: Value, to: Type, *, cast: bool = False) -> Value:
    """The value as another type; HostError if there is no such conversion."""
    kind = value.type
    is_any = to == ANY_STREAM and isinstance(kind, StreamType)
    if kind == to or is_any or (isinstance(to, CScalar) and not to.rank):
        return replace(value, type=to)
    match kind, to:
        case CScalar(), CScalar():
            return folded(_number(value, kind, to), value)
        case Pointer(), CScalar() if to.is_truth or (cast and not to.is_float):
            return converted(Value(value.code, ULONG), to)
        case CScalar(), Pointer() if not kind.is_float and (cast or value.constant == 0):
            return _aligned(settled(converted(value, ULONG)), 1, to)
        case Pointer(), Pointer():
            return _aligned(value.code, kind.target.align, to)
    raise HostError(f"{kind} cannot become {to}")


def _aligned(code: str, known: int, to: Pointer) -> Value:
    """The code of an address as a pointer. known: the alignment that the address has."""
    align = to.target.align
    return Value(f"aligned({code}, {align})" if align > known and code != "0" else code, to)


def _number(value: Value, kind: CScalar, to: CScalar) -> Value:
    code, is_exact = settled(value), False
    if to.is_truth and not kind.is_truth:
        code, is_exact = f"({code} != 0)", True
    elif to.code == kind.code:
        return replace(value, type=to)
    elif kind.is_float:
        if to.code == "Q":
            code = f"unsigned({code})"
        elif not to.is_float:
            limit = 2.0 ** (31 if to.size < 4 or to.code == "i" else 63)
            code, is_exact = f"whole({code}, {limit})", to.code in "iq"
    elif to.is_float:
        is_long = to.code == "f" and kind.size > 4
        code = f"rounded_once(str(+{code}))" if is_long else f"({code} + 0.0)"
        is_exact = kind.size < 4
    elif to.size > kind.size:
        is_exact = to.is_signed or not kind.is_signed
    else:
        code = value.code
    return Value(code, to, is_exact)


def binary(operator: str, a: Value, b: Value) -> Value:
    """An operator between two values, but not && and ||."""
    x, y = a.type, b.type
    match x, y:
        case (Pointer(), _) | (_, Pointer()) if operator in COMPARISONS:
            return Value(f"({settled(a)} {operator} {settled(b)})", INT)
        case Pointer(), Pointer() if operator == "-":
            return Value(f"(({a.code} - {b.code}) // {x.target.size})", LONG)
        case Pointer(), CScalar() if operator in "+-":
            by = f"{operator}{x.target.size} * {settled(b)}"
            return replace(a, code=f"moved({a.code}, {by})")
        case CScalar(), Pointer() if operator == "+":
            return binary(operator, b, a)
        case CScalar(), CScalar() if not usual(x, y).is_float or operator in _OF_FLOATS:
            return _arithmetic(operator, a, b, x, y)
    raise HostError(f"there is no {x} {operator} {y}")


def _arithmetic(operator: str, a: Value, b: Value, x: CScalar, y: CScalar) -> Value:
    """An operator between two numbers, of these types."""
    is_shift = operator in {"<<", ">>"}
    kind = usual(x, INT if is_shift else y)
    a, b = converted(a, kind), converted(b, usual(y, INT) if is_shift else kind)
    code = f"({settled(a)} {operator} {settled(b)})"
    if operator in COMPARISONS:
        return folded(Value(code, INT), a, b)
    if kind.is_float:
        if operator == "/" and not b.constant:
            code = f"divided({settled(a)}, {settled(b)})"
        return folded(Value(code, kind, False), a, b)
    if operator in "+-*":
        code = f"({a.code} {operator} {b.code})"
    elif is_shift:
        code = f"({settled(a)} {operator} ({settled(b)} & {8 * kind.size - 1}))"
    elif operator in "/%":
        code = f"{'quotient' if operator == '/' else 'remainder'}({settled(a)}, {settled(b)})"
    return folded(Value(code, kind, operator not in {"+", "-", "*", "<<", "/"}), a, b)


_KNOWN = re.compile(r"\w+|moved.*")
_NEAR = re.compile(rf"{_KNOWN.pattern}|\(\w+ \+ \d+\)")


def pointer(place: Lvalue) -> Value:
    """The address of a place, as a value that may be kept."""
    code = place.code if _KNOWN.fullmatch(place.code) else f"moved({place.code}, 0)"
    return Value(code, Pointer(place.type))


def element(base: Lvalue | Value, index: Value) -> Value:
    """The address of an element, to be used at once; unchecked if it must be within REACH."""
    array, kind = loaded(base), index.type
    code = base.code if isinstance(base.type, CArray) else array.code
    is_near = isinstance(kind, CScalar) and not kind.is_float and kind.size <= INT.size
    if is_near and isinstance(array.type, Pointer) and _NEAR.fullmatch(code):
        size = array.type.target.size
        if size <= DOUBLE.size:
            known = index.constant is not None
            near = added(code, size * index.constant) if known else ""
            return replace(array, code=near or f"({code} + {size} * {settled(index)})")
    return binary("+", array, index)


def added(address: str, offset: int) -> str:
    """The code of an address and an offset in its object."""
    if address.isdecimal():
        return str(int(address) + offset)
    return f"({address} + {offset})" if offset else address


def signed(operator: str, value: Value) -> Value:
    """A value after a unary -, + or ~."""
    kind = value.type
    if not isinstance(kind, CScalar) or (kind.is_float and operator == "~"):
        raise HostError(f"there is no {operator} {kind}")
    value = converted(value, usual(kind, INT))
    code = f"({operator}{settled(value)})"
    return folded(Value(code, value.type, kind.is_float), value)


# Places -----------------------------------------------------------------------------------------

_names = count(1)


def fresh() -> str:
    """A Python name that no other variable has."""
    return f"v{next(_names)}"


def _element(place: Lvalue) -> str:
    """The code of a place: a variable, an address, or an element of a view of memory."""
    address, kind = place.code, place.type
    if place.is_local or not isinstance(kind, CScalar | Pointer):
        return address
    shift = kind.size.bit_length() - 1
    if address.isdecimal():
        return f"{kind.code}[{int(address) >> 32}][{(int(address) & 0xFFFFFFFF) >> shift}]"
    name = address if address.isidentifier() else fresh()
    first = address if name == address else f"({name} := {address})"
    return f"{kind.code}[{first} >> 32][({name} & 0xFFFFFFFF) >> {shift}]"


def loaded(place: Lvalue | Value) -> Value:
    """The value that a place holds; for an array or a function, its address."""
    if isinstance(place, Value):
        return place
    kind = place.type
    if place.constant is not None and isinstance(kind, CScalar):
        return literal(place.constant, kind)
    if isinstance(kind, CFunction):
        return Value(f"address({place.code}, {kind.signature!r})", Pointer(kind))
    if isinstance(kind, CArray):
        return pointer(replace(place, type=kind.element))
    return Value(place.code if isinstance(kind, CStruct) else _element(place), kind)


def assigned(place: Lvalue, value: Value) -> str:
    """The statement that stores a value, which has the place's type."""
    if not isinstance(place.type, CScalar | Pointer):
        return stored(place, value)
    code = settled(value) if place.is_local or place.type != FLOAT else value.code
    return f"{_element(place)} = {code}"


def stored(place: Lvalue, value: Value) -> str:
    """The expression that stores a value and has that value."""
    kind, code = place.type, settled(value)
    if place.is_local:
        is_number = isinstance(kind, CScalar | Pointer)
        return f"({place.code} := {code})" if is_number else f"stream_copy({place.code}, {code})"
    if isinstance(kind, CStruct):
        return f"copy({code}, {kind.size}, {place.code})"
    if isinstance(kind, CArray):
        raise HostError(f"an {kind} cannot be assigned to; copy its elements")
    return f"put({getattr(kind, 'code', '')!r}, {code}, {place.code})"


def anchored(place: Lvalue) -> tuple[Lvalue, Lvalue]:
    """The place twice: the first computes the address, which the second uses again."""
    if place.is_local or place.code.isidentifier() or place.code.isdecimal():
        return place, place
    name = fresh()
    return replace(place, code=f"({name} := {place.code})"), replace(place, code=name)
