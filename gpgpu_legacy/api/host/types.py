"""The types of the host's C, with the sizes of a 64-bit Unix, and Brook's vectors and streams."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from struct import calcsize

from gpgpu_legacy.decorators import frozen


@frozen
class CScalar:
    """A number's type. code: as in the module struct; rank: of C's conversions."""

    name: str
    code: str
    rank: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return calcsize(f"={self.code}")

    align = size

    @property
    def is_float(self) -> bool:
        """Whether it is float or double."""
        return self.code in "fd"

    @property
    def is_truth(self) -> bool:
        """Whether it holds 0 or 1 alone."""
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
        """Its bytes."""
        return self.count * self.element.size

    @property
    def align(self) -> int:
        """The number that divides its address."""
        return self.element.align

    def __str__(self) -> str:
        return f"array of {self.element}"


@dataclass(eq=False)
class CStruct:
    """A struct, its fields with types and offsets; in Python, the address of one.

    lanes: the numbers of float2, int4 and the like.
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
        """What tells functions apart that are not called alike."""
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
"""A kernel, or what combines elements in a scatter or gather: in Python, its name."""


def record(struct: CStruct, fields: dict[str, Type]) -> CStruct:
    """The struct, to which fields may point, with its fields in place."""
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
