"""The types of the shading languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import COMPONENTS, TextureTarget
from gpgpu_legacy.languages.c.syntax import Declaration

KINDS = ("bool", "int", "fixed", "half", "float")
"""The kinds of number, from the narrowest to the widest; all are floats in the Program."""


@frozen
class Numbers:
    """A scalar, of width 1, or a vector; void has the width 0."""

    kind: str
    width: int

    def __str__(self) -> str:
        return f"{self.kind}{self.width if self.width > 1 else ''}"


VOID = Numbers("void", 0)


@frozen
class ArrayType:
    """An array; or a matrix, whose items are its rows. length: None if it is not given."""

    item: Type
    length: int | None
    is_matrix: bool = False

    @property
    def kind(self) -> str:
        """The kind of its numbers."""
        return self.item.kind

    def __str__(self) -> str:
        if isinstance(self.item, Numbers) and self.is_matrix:
            return f"{self.item.kind}{self.length}x{self.item.width}"
        return f"{self.item}[{'' if self.length is None else self.length}]"


@frozen
class StructType:
    """A struct: the declarations and the types of its fields.

    interface: the one that it implements; an interface is a struct that implements itself.
    """

    name: str
    fields: tuple[Declaration, ...]
    types: tuple[Type, ...]
    interface: str = ""
    kind = ""

    def __str__(self) -> str:
        return f"{'interface' if self.interface == self.name else 'struct'} {self.name}"


@frozen
class SamplerType:
    """A sampler. target: None if the lookup decides it."""

    target: TextureTarget | None
    kind = ""

    def __str__(self) -> str:
        return f"sampler{self.target.value if self.target else ''}"


class Indexed:
    """The type of a value that computes its own elements, such as a gather stream."""

    kind = ""

    def index(self, index: Any) -> Any:
        """The element at an index, a vector: `g[x, y]` has an index of two numbers."""
        raise NotImplementedError


Type = Numbers | ArrayType | StructType | SamplerType | Indexed


def is_open(kind: Type) -> bool:
    """Whether a type has no size: void, an array without a length, an interface."""
    if isinstance(kind, ArrayType):
        return kind.length is None or is_open(kind.item)
    if isinstance(kind, StructType):
        return kind.interface == kind.name or any(map(is_open, kind.types))
    return kind == VOID


def implements(own: Type | None, kind: Type | None) -> bool:
    """Whether a struct implements an interface."""
    return isinstance(own, StructType) and own.interface == getattr(kind, "name", None)


def is_matrix(kind: Type | None) -> bool:
    """Whether a type is that of a matrix."""
    return isinstance(kind, ArrayType) and kind.is_matrix


def extents(kind: Type) -> tuple[int, int]:
    """The rows and columns of a vector or a matrix; 0 and 0 for other types."""
    if isinstance(kind, ArrayType) and kind.is_matrix:
        return length(kind), length(kind.item)
    return (1, kind.width) if isinstance(kind, Numbers) else (0, 0)


def matrix(kind: str, rows: int, columns: int) -> ArrayType:
    """A matrix's type."""
    return ArrayType(Numbers(kind, columns), rows, is_matrix=True)


_KINDS = dict.fromkeys(("int", "uint", "short", "ushort", "char", "uchar", "schar", "long"), "int")
_KINDS |= {kind: kind for kind in KINDS} | {"double": "float"}
BUILT_IN: dict[str, Type] = {
    **{f"{name}{n or ''}": Numbers(_KINDS[name], n or 1) for name in _KINDS for n in range(5)},
    **{
        f"{name}{rows}x{columns}": matrix(_KINDS[name], rows, columns)
        for name in _KINDS
        for rows in range(1, 5)
        for columns in range(1, 5)
    },
    **{
        f"{name}{target.value}": SamplerType(target)
        for name in ("sampler", "texobj")
        for target in TextureTarget
    },
    "sampler": SamplerType(None),
    "void": VOID,
}
"""The types that Cg defines."""

GENERIC = {name: Numbers(name, 0) for name in ("real", "number", "value")}
"""The generic types of library.cg, which explains them."""


def item(kind: Type, number: int) -> tuple[Type, int]:
    """The type of a component or an item of a value, and how many numbers lie before it."""
    match kind:
        case StructType():
            return kind.types[number], sum(map(size, kind.types[:number]))
        case ArrayType():
            return kind.item, number * size(kind.item)
    return Numbers(kind.kind, 1), number


def length(kind: Type) -> int:
    """How many components or items a value of a type has."""
    match kind:
        case StructType():
            return len(kind.types)
        case ArrayType():
            return kind.length or 0
        case Numbers():
            return kind.width
    return 0


def size(kind: Type) -> int:
    """How many numbers and samplers a value of a type has."""
    match kind:
        case StructType():
            return sum(map(size, kind.types))
        case ArrayType():
            return length(kind) * size(kind.item)
        case Numbers():
            return kind.width
    return 1


def leaves(kind: Type, name: str = "") -> Iterator[tuple[Numbers | SamplerType, str]]:
    """The vectors and samplers in a value of a type, with their names."""
    match kind:
        case StructType():
            for field, part in zip(kind.fields, kind.types, strict=True):
                yield from leaves(part, f"{name}_{field.name}")
        case ArrayType():
            for number in range(length(kind)):
                yield from leaves(kind.item, f"{name}_{number}")
        case Numbers() | SamplerType():
            yield kind, name


_PART = re.compile(r"_m?\d\d|.")


def selected(kind: Type, name: str) -> list[int]:
    """The positions of what `.xy`, `._m00_m11` or `._11_22` selects; empty if there are none."""
    names: list[list[str]] = []
    if isinstance(kind, Numbers):
        names = [list(letters[: kind.width]) for letters in (COMPONENTS, "rgba", "stpq")]
    elif is_matrix(kind):
        rows, columns = extents(kind)
        cells = [(r, c) for r in range(rows) for c in range(columns)]
        names = [[f"_m{r}{c}" for r, c in cells], [f"_{r + 1}{c + 1}" for r, c in cells]]
    parts = _PART.findall(name)
    for row in names:
        if {*parts} <= {*row} and len(parts) <= 4:
            return [*map(row.index, parts)]
    return []
