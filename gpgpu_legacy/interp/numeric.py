"""Texels in memory: how formats store float32 values, how matrices are packed, and lookups.

Lookups take float32 coordinates to filtered texels (plan/sampling.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.opcodes import Symbol
from gpgpu_legacy.plan.encoding import as_read, decoded, encoded, levels_of, summed
from gpgpu_legacy.plan.framebuffer import ADD, Writes
from gpgpu_legacy.plan.sampling import (
    Sampling,
    border_of,
    coordinate_count,
    level_of,
    parameter_count,
    sloping,
)
from gpgpu_legacy.plan.textures import (
    Filter,
    Format,
    Numeric,
    Packing,
    Rect,
    Region,
    Sampler,
    Texture,
)

Stored = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.uint8] | NDArray[np.uint16]
Slices = tuple[slice, slice]
Mask = NDArray[np.bool_]


def stored_dtype(texel_format: Format) -> type[np.generic]:
    """The type in which a format stores a channel."""
    kind = "f" if texel_format.numeric is Numeric.FLOAT else "u"
    return np.dtype(f"{kind}{texel_format.bits_per_channel // 8}").type


def encode(values: F32, texel_format: Format) -> Stored:
    """Float32 values as a format stores them."""
    content = encoded(values, texel_format, as_level=True)
    return content.astype(stored_dtype(texel_format), copy=False)  # type: ignore[no-any-return]


def decode(stored: Stored, texel_format: Format) -> F32:
    """Stored numbers of a format as the float32 values that lookups read."""
    if texel_format.numeric is not Numeric.UNORM:
        return stored.astype(np.float32, copy=False)
    shown: F32 = _shown(texel_format)[stored]
    return shown


@cache
def _shown(texel_format: Format) -> F32:
    """The value of each level of a fixed-point format."""
    levels = np.arange(levels_of(texel_format) + 1, dtype=np.float32)
    values: F32 = decoded(levels, texel_format, as_level=True)
    return values


class Storage:
    """The texels of a texture: for each channel a plane (rows, W), as the format stores it."""

    def __init__(self, texture: Texture, planes: Sequence[Stored] = ()) -> None:
        """All texels have the texture's initial value, or 0 if it has none.

        planes: the memory to use, a plane (rows, W) of `stored_dtype` for each channel; new memory
        by default.
        """
        self.texture = texture
        shape = (texture.extent.rows, texture.extent.width)
        self.planes: list[Stored] = list(planes) or [
            np.empty(shape, stored_dtype(texture.format)) for _ in range(texture.format.channels)
        ]
        self.reset()

    def reset(self) -> None:
        """Set all texels to their values at the start of a run."""
        self.clear(self.texture.initial or (0.0, 0.0, 0.0, 0.0))

    def clear(self, value: Sequence[float]) -> None:
        """Set every texel to one value."""
        for plane, component in zip(self.planes, value, strict=False):
            plane[...] = encode(np.asarray(component, np.float32), self.texture.format)

    def decode(self, stored: Stored) -> F32:
        """The float32 values that lookups read from these stored numbers."""
        return decode(stored, self.texture.format)

    def texels(self) -> F32:
        """All texels, (rows, W, channels) float32, as lookups and observers read them."""
        return np.stack([self.decode(plane) for plane in self.planes], axis=-1)

    def draw(
        self, where: Slices, colour: Sequence[F32], writes: Writes, alive: Any = np.True_
    ) -> None:
        """Draw a colour (R, G, B, A) to a rectangle, where `alive` is true."""
        texel_format, blend = self.texture.format, writes.blend
        channels = writes.channels(texel_format)
        if blend is not None and blend.weighs:
            source = [encoded(part, texel_format) for part in colour]
            there = as_read([self.decode(plane[where]) for plane in self.planes], texel_format)
            mixed = [blend.channel(c, source, there, texel_format) for c in channels]
        else:
            mixed = [colour[c] for c in channels]
        for channel, value in zip(channels, mixed, strict=True):
            held = self.planes[channel][where]
            content = encoded(np.asarray(value, np.float32), texel_format, as_level=True)
            if blend == ADD:
                before = held.astype(np.float32, copy=False)
                content = summed(content, before, texel_format, as_level=True)
            np.copyto(held, content.astype(stored_dtype(texel_format), copy=False), where=alive)

    def load(self, matrix: F32, region: Region, rect: Rect, packing: Packing) -> None:
        """Pack a region of a matrix into a rectangle; the padding is 0."""
        for plane, view in zip(self.planes, views_of(matrix, region, rect, packing), strict=False):
            part, (rows, columns) = plane[slices(rect)], view.shape
            part[...] = 0
            part[:rows, :columns] = encode(view, self.texture.format)

    def unload(self, matrix: F32, region: Region, rect: Rect, packing: Packing) -> None:
        """Unpack a rectangle into a region of a matrix; the padding is dropped."""
        for plane, view in zip(self.planes, views_of(matrix, region, rect, packing), strict=False):
            rows, columns = view.shape
            view[...] = self.decode(plane[slices(rect)][:rows, :columns])

    def copy(self, where: Slices, source: Storage, source_where: Slices) -> None:
        """Copy a rectangle of another texture of the same format, bit for bit."""
        for mine, theirs in zip(self.planes, source.planes, strict=True):
            mine[where] = theirs[source_where]


def slices(rect: Rect) -> Slices:
    """The rows and columns of a rectangle of texels."""
    return slice(rect.y, rect.y + rect.height), slice(rect.x, rect.x + rect.width)


def pack(matrix: F32, texels: F32, region: Region, packing: Packing) -> None:
    """Pack a region of a matrix into texels (height, width, channels); padding stays as it is."""
    for view, channel in _channels(matrix, texels, region, packing):
        channel[...] = view


def unpack(texels: F32, matrix: F32, region: Region, packing: Packing) -> None:
    """Unpack texels (height, width, channels) into a region of a matrix; padding is dropped."""
    for view, channel in _channels(matrix, texels, region, packing):
        view[...] = channel


def _channels(
    matrix: F32, texels: F32, region: Region, packing: Packing
) -> Iterator[tuple[F32, F32]]:
    """For each channel, its elements of the matrix and its numbers in the texels."""
    height, width, _ = texels.shape
    for number, view in enumerate(views_of(matrix, region, Rect(0, 0, width, height), packing)):
        yield view, texels[: view.shape[0], : view.shape[1], number]


def views_of(matrix: Any, region: Region, rect: Rect, packing: Packing) -> Iterator[Any]:
    """A view of the matrix for each channel of a rectangle: the elements that the channel holds.

    A view is (rows, columns), at most as large as the rectangle: padding has no elements.
    """
    part = matrix[
        region.row : region.row + region.rows, region.column : region.column + region.columns
    ]
    part = part.T if packing.transposed else part
    for row, column in packing.offsets:
        view = part[row :: packing.row_step, column :: packing.column_step]
        yield view[: rect.height, : rect.width]


Planes = list[F32]
Index = NDArray[np.intp]

_ZERO = np.zeros((1, 1), np.float32)
_CONSTANTS = {"0": _ZERO, "1": np.ones((1, 1), np.float32)}


def sample(storage: Storage, sampler: Sampler, *place: Any) -> Planes:
    """Look up a texture. place: s, t, r and the other arguments of `looked_up`.

    Returns r, g, b and a, float32, each in the shape that the used coordinates broadcast to.
    """
    texel = looked_up(Lookup(storage, sampler), *place)
    held = {**_CONSTANTS, **dict(zip("rgba", texel.planes, strict=False))}
    return [held[source] for source in storage.texture.format.reads]


def looked_up(
    lookup: Lookup, s: F32, t: F32, r: F32, bias: F32 = _ZERO, *given: Sequence[Sequence[F32]]
) -> Any:
    """The texel of a lookup in a texture of any kind but BUFFER (extension, section 3.11.6).

    s, t, r: float32 arrays of shapes that broadcast: unnormalised for RECT, a direction for CUBE,
    else normalised. Coordinates that the kind does not use are ignored. bias: that of the level of
    detail. given: the derivatives along x and y that the level of detail comes from; empty if it is
    0. Without this argument, a sampler that needs levels of detail needs arrays of whole quads.
    """
    sampler, texture = lookup.sampler, lookup.storage.texture
    place = (s, t, r)[: parameter_count(texture.kind, sampler)]
    if sampler.has_lod:
        if not given:
            points = _in_quads(place[: coordinate_count(texture.kind)])
            lod = _of_fragments(lookup.level_of_detail(points))
        for slopes in given:
            points = sloping(texture.kind, place, slopes)
            lod = lookup.level_of_detail(points) if slopes else _ZERO
        return lookup.detailed(place, lod, np.atleast_2d(bias))
    level = level_of(texture.extent, texture.kind, sampler.base_level)
    return lookup.in_level(sampler.filter, level, place)


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


@frozen
class _Texel(Symbol):
    """Stored channels, each a plane."""

    planes: Sequence[F32] | F32

    def operate(self, name: str, operands: tuple[Any, ...]) -> _Texel:
        count = len(self.planes)
        planes = (o.planes if isinstance(o, _Texel) else [o] * count for o in operands)
        return _Texel(list(map(getattr(np, name), *planes)))


class Lookup(Sampling):
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
        texel: Any = None
        for n in np.unique(numbers):
            new = self.in_level(filter_, level_of(self.extent, self.kind, int(n)), place)
            texel = new if texel is None else np.where(numbers == n, new, texel)
        return texel  # type: ignore[no-any-return]


def _run(index: Index) -> Index | slice:
    """Consecutive indices as a slice, which needs no copy."""
    first, last = int(index[0]), int(index[-1])
    if last - first == len(index) - 1 and bool((index[1:] - index[:-1] == 1).all()):
        return slice(first, last + 1)
    return index
