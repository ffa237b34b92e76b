"""Texture lookups on arrays: float32 coordinates to filtered texels (plan/sampling.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.opcodes import Symbol
from gpgpu_legacy.plan.sampling import (
    Sampling,
    border_of,
    coordinate_count,
    level_of,
    parameter_count,
)
from gpgpu_legacy.plan.textures import Filter, Sampler

Planes = list[F32]
Index = NDArray[np.intp]

_ZERO = np.zeros((1, 1), np.float32)
_CONSTANTS = {"0": _ZERO, "1": np.ones((1, 1), np.float32)}


def sample(  # noqa: PLR0917 - as an instruction gives them
    storage: Storage,
    sampler: Sampler,
    s: F32,
    t: F32,
    r: F32,
    bias: F32 = _ZERO,
    *,
    gives_lod: bool = False,
) -> Planes:
    """Look up a texture of any kind but BUFFER (extension, section 3.11.6).

    s, t, r: float32 arrays of shapes that broadcast: unnormalised for RECT, a direction for CUBE,
    else normalised. Coordinates that the kind does not use are ignored. bias: of the level of
    detail; with gives_lod, of one that is 0. A sampler that needs levels of detail needs arrays of
    whole quads. Returns r, g, b and a, float32, each in the shape that the used coordinates
    broadcast to.
    """
    lookup, texture = _Lookup(storage, sampler), storage.texture
    place = (s, t, r)[: parameter_count(texture.kind, sampler)]
    if sampler.has_lod:
        points = place[: coordinate_count(texture.kind)]
        lod = _ZERO if gives_lod else _of_fragments(lookup.level_of_detail(_in_quads(points)))
        texel = lookup.detailed(place, lod, np.atleast_2d(bias))
    else:
        level = level_of(texture.extent, texture.kind, sampler.base_level)
        texel = lookup.in_level(sampler.filter, level, place)
    held = {**_CONSTANTS, **dict(zip("rgba", texel.planes, strict=False))}
    return [held[source] for source in texture.format.reads]


def _in_quads(place: Sequence[F32]) -> list[list[F32]]:
    """The coordinates in the fragments (0, 0), (1, 0) and (0, 1) of each quad."""
    return [
        [c[up if c.shape[0] > 1 else 0 :: 2, right if c.shape[1] > 1 else 0 :: 2] for c in place]
        for right, up in ((0, 0), (1, 0), (0, 1))
    ]


def _of_fragments(values: F32) -> F32:
    """A number for each quad as one for each fragment."""
    for axis in range(2):
        values = values.repeat(2, axis) if values.shape[axis] > 1 else values
    return values


class _Texel(Symbol):
    """Stored channels, each a plane."""

    __slots__ = ("planes",)

    def __init__(self, planes: Sequence[F32] | F32) -> None:
        self.planes = planes

    def operate(self, name: str, operands: tuple[Any, ...]) -> _Texel:
        each = zip(*(_planes(operand, len(self.planes)) for operand in operands), strict=True)
        return _Texel([getattr(np, name)(*of_channel) for of_channel in each])


def _planes(value: Any, count: int) -> Any:
    return value.planes if isinstance(value, _Texel) else [value] * count


class _Lookup(Sampling):
    """Lookups in a texture's storage."""

    def __init__(self, storage: Storage, sampler: Sampler) -> None:
        super().__init__(storage.texture.kind, sampler, storage.texture.extent)
        self.storage = storage

    def border(self) -> _Texel:
        colour = border_of(self.sampler, self.storage.texture.format)
        return _Texel(np.array(colour, np.float32))

    def limited(self, name: str, value: F32, low: float, high: float) -> F32:
        limited: F32 = np.fmin(np.fmax(value, low), high)
        return limited

    def to_int(self, value: F32) -> Index:
        return value.astype(np.intp)

    def to_float(self, size: int, more: float = 0.0) -> np.float32:
        return np.float32(size + more)

    def fetched(self, name: str, column: Index, row: Index, first_row: Any) -> _Texel:
        rows = row if type(first_row) is int and not first_row else row + first_row
        rows = rows if isinstance(rows, np.ndarray) else np.full((1, 1), rows)
        planes, decode = self.storage.planes, self.storage.decode
        if rows.shape[1] > 1 or column.shape[0] > 1:
            return _Texel([decode(plane[rows, column]) for plane in planes])
        up, across = _run(rows[:, 0]), _run(column[0])  # without a full index array
        return _Texel([decode(plane[up][:, across]) for plane in planes])

    def in_levels(self, filter_: Filter, numbers: F32, place: Sequence[F32]) -> _Texel:
        assert self.extent is not None
        first, *others = np.unique(numbers)
        texel = self.in_level(filter_, level_of(self.extent, self.kind, int(first)), place)
        for n in others:
            new = self.in_level(filter_, level_of(self.extent, self.kind, int(n)), place)
            texel = np.where(numbers == n, new, texel)
        return texel  # type: ignore[no-any-return]


def _run(index: Index) -> Index | slice:
    """Consecutive indices as a slice, which needs no copy."""
    first, last = int(index[0]), int(index[-1])
    if last - first == len(index) - 1 and bool((index[1:] - index[:-1] == 1).all()):
        return slice(first, last + 1)
    return index
