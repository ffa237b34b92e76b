"""The types of Cg, and values other than vectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import COMPONENTS, TextureTarget
from gpgpu_legacy.languages.c.syntax import Declaration
from gpgpu_legacy.languages.cg.graph import KINDS, Graph, Vector


@frozen
class Numbers:
    """A scalar, of width 1, or a vector; void has the width 0."""

    kind: str
    width: int

    def __str__(self) -> str:
        return f"{self.kind}{self.width if self.width > 1 else ''}"


VOID = Numbers("void", 0)

GENERIC = {name: Numbers(name, 0) for name in ("real", "number", "value")}
"""The types that stand for others in library.cg, which says for which."""


@frozen
class ArrayType:
    """An array, or a matrix, whose items are its rows. length: None if it is not given."""

    item: Type
    length: int | None
    is_matrix: bool = False

    def __str__(self) -> str:
        if isinstance(self.item, Numbers) and self.is_matrix:
            return f"{self.item.kind}{self.length}x{self.item.width}"
        return f"{self.item}[{'' if self.length is None else self.length}]"


@frozen
class StructType:
    """A struct: the declarations and the types of its fields."""

    name: str
    fields: tuple[Declaration, ...]
    types: tuple[Type, ...]

    def __str__(self) -> str:
        return f"struct {self.name}"


@frozen
class SamplerType:
    """A sampler; without a target, the lookup says which it has."""

    target: TextureTarget | None

    def __str__(self) -> str:
        return f"sampler{self.target.value if self.target else ''}"


Type = Numbers | ArrayType | StructType | SamplerType


@frozen
class Aggregate:
    """A struct by its fields, an array by its elements, or a matrix by its rows."""

    type: ArrayType | StructType
    items: tuple[Value, ...]


@frozen
class SamplerValue:
    """A texture image unit."""

    unit: int
    type: SamplerType


@frozen
class Unreadable:
    """A value that a fragment program may name but not read. why, expected: for the message."""

    why: str
    expected: str


@runtime_checkable
class Indexed(Protocol):
    """A value that answers an index itself, such as a gather stream."""

    def index(self, index: Vector) -> Value:
        """The element; `g[x, y]` gives a vector of two."""


Value = Vector | Aggregate | SamplerValue | Unreadable | Indexed

_KINDS = dict.fromkeys(("int", "uint", "short", "ushort", "char", "uchar", "schar", "long"), "int")
_KINDS |= {kind: kind for kind in KINDS} | {"double": "float"}
_NUMBERS = re.compile(rf"({'|'.join(_KINDS)})([1-4])?(?:x([1-4]))?")
_BUILT_IN: dict[str, Type] = {
    f"{name}{target.value}": SamplerType(target)
    for name in ("sampler", "texobj")
    for target in TextureTarget
}
_BUILT_IN |= {"sampler": SamplerType(None), "void": VOID}


def built_in(name: str) -> Type | None:
    """The type that Cg defines under this name."""
    match = _NUMBERS.fullmatch(name)
    if match is None:
        return _BUILT_IN.get(name)
    kind, first, second = _KINDS[match[1]], int(match[2] or 1), match[3]
    return matrix(kind, first, int(second)) if second else Numbers(kind, first)


def matrix(kind: str, rows: int, columns: int) -> ArrayType:
    """A matrix's type."""
    return ArrayType(Numbers(kind, columns), rows, is_matrix=True)


def type_of(value: Value) -> Type | None:
    """A value's type; None for a value with its own rules."""
    if isinstance(value, Vector):
        return Numbers(value.kind, len(value))
    return value.type if isinstance(value, Aggregate | SamplerValue) else None


def item_types(kind: Type) -> tuple[Type, ...]:
    """The types of a value's components or items."""
    match kind:
        case Numbers():
            return (Numbers(kind.kind, 1),) * kind.width
        case ArrayType():
            return (kind.item,) * (kind.length or 0)
        case StructType():
            return kind.types
    return ()


def size(kind: Type) -> int:
    """The numbers that a value of a type has."""
    return kind.width if isinstance(kind, Numbers) else sum(map(size, item_types(kind)))


def built(kind: Type, leaf: Callable[[Numbers | SamplerType, str], Value], name: str = "") -> Value:
    """A value of a type from its vectors and samplers, each of which `leaf` makes with its name."""
    match kind:
        case ArrayType():
            names = [f"{name}_{k}" for k in range(kind.length or 0)]
        case StructType():
            names = [f"{name}_{field.name}" for field in kind.fields]
        case _:
            return leaf(kind, name)
    items = (built(t, leaf, n) for t, n in zip(item_types(kind), names, strict=True))
    return Aggregate(kind, tuple(items))


def zeros(graph: Graph, kind: Type) -> Value:
    """The value of a variable before its first assignment."""

    def leaf(kind: Numbers | SamplerType, _: str) -> Value:
        if isinstance(kind, Numbers):
            return graph.numbers(*(0.0,) * kind.width, kind=kind.kind)
        return Unreadable(f"this {kind} is bound to no texture", "read attributes and uniforms")

    return built(kind, leaf)


def combined(function: Callable[..., Vector], *values: Value) -> Value:
    """The function of each vector in values of one shape; of others, the first value."""
    first = values[0]
    if isinstance(first, Vector):
        return function(*values)
    if not isinstance(first, Aggregate):
        return first
    items = zip(*(v.items for v in values if isinstance(v, Aggregate)), strict=True)
    return Aggregate(first.type, tuple(combined(function, *parts) for parts in items))


def vectors_of(value: Value) -> list[Vector]:
    """The vectors of a value, in order."""
    if isinstance(value, Aggregate):
        return [v for item in value.items for v in vectors_of(item)]
    return [value] if isinstance(value, Vector) else []


_CELL = re.compile(r"_m([0-3])([0-3])|_([1-4])([1-4])")

Cell = tuple[int, int]


def swizzle(name: str) -> tuple[int, ...]:
    """The components that `.name` selects; none if it is no swizzle."""
    for letters in (COMPONENTS, "rgba", "stpq"):
        if 0 < len(name) <= 4 and set(name) <= set(letters):
            return tuple(map(letters.index, name))
    return ()


def cells(name: str) -> tuple[Cell, ...]:
    """The rows and columns that `._m00_m11` or `._11_22` selects; none for another name."""
    found = list(_CELL.finditer(name))
    if len(found) > 4 or "".join(m[0] for m in found) != name:
        return ()
    return tuple((int(m[1]), int(m[2])) if m[1] else (int(m[3]) - 1, int(m[4]) - 1) for m in found)
