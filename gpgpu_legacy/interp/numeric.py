"""Texels in memory: how formats store float32 values, and how matrices are packed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.framebuffer import Blend
from gpgpu_legacy.plan.textures import Format, Numeric, Packing, Rect, Region, Texture

Stored = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.uint8] | NDArray[np.uint16]
Slices = tuple[slice, slice]
Mask = NDArray[np.bool_]


@frozen
class _Codec:
    """How a format stores a channel."""

    dtype: type[np.generic]
    encode: Callable[[F32], Stored]
    decode: Callable[[Stored], F32]
    add: Callable[[Stored, Stored], Stored]


def _identity(values: Any) -> Any:
    return values


def _unorm(dtype: type[np.uint8] | type[np.uint16]) -> _Codec:
    """Clamp to [0, 1] and round to the nearest of 2ᵇ values (GL 2.1, section 2.14.9); NaN is 0."""
    most = np.float32(np.iinfo(dtype).max)

    def encode(values: F32) -> Stored:
        clamped = np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)
        stored: Stored = np.floor(clamped * most + np.float32(0.5)).astype(dtype)
        return stored

    def decode(stored: Stored) -> F32:
        return stored.astype(np.float32) / most

    def add(destination: Stored, source: Stored) -> Stored:
        """Blending saturates."""
        total = np.add(destination, source, dtype=f"u{2 * destination.itemsize}")
        limited: Any = np.minimum(total, np.iinfo(dtype).max)
        stored: Stored = limited.astype(dtype)
        return stored

    return _Codec(dtype, encode, decode, add)


def _add_float(destination: Stored, source: Stored) -> Stored:
    return np.add(source, destination, dtype=np.float32)


def _encode_half(values: F32) -> NDArray[np.float16]:
    """The nearest half-precision number, denormals included; infinity from 65520 on."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16)


def _decode_half(stored: Stored) -> F32:
    return stored.astype(np.float32)


def _add_half(destination: Stored, source: Stored) -> Stored:
    return _encode_half(np.add(source, destination, dtype=np.float32))


_CODECS = {
    (Numeric.FLOAT, 16): _Codec(np.float16, _encode_half, _decode_half, _add_half),
    (Numeric.FLOAT, 32): _Codec(np.float32, _identity, _identity, _add_float),
    (Numeric.UNORM, 8): _unorm(np.uint8),
    (Numeric.UNORM, 16): _unorm(np.uint16),
}


def _codec(texel_format: Format) -> _Codec:
    return _CODECS[texel_format.numeric, texel_format.bits_per_channel]


class Storage:
    """The texels of a texture: for each channel a plane (rows, W), as the format stores it."""

    def __init__(self, texture: Texture, planes: Sequence[Stored] = ()) -> None:
        """All texels have the texture's initial value, or 0 if it has none.

        planes: the memory to use, a plane (rows, W) of `stored_dtype` for each channel; new memory
        by default.
        """
        self.texture = texture
        self._codec = _codec(texture.format)
        shape = (texture.extent.rows, texture.extent.width)
        self.planes: list[Stored] = list(planes) or [
            np.empty(shape, self._codec.dtype) for _ in range(texture.format.channels)
        ]
        self.reset()

    def reset(self) -> None:
        """Set all texels to their values at the start of a run."""
        self.clear(self.texture.initial or (0.0, 0.0, 0.0, 0.0))

    def clear(self, value: Sequence[float]) -> None:
        """Set every texel to one value."""
        for plane, component in zip(self.planes, value, strict=False):
            plane[...] = self._codec.encode(np.asarray(component, np.float32))

    def decode(self, stored: Stored) -> F32:
        """The float32 values that lookups read from these stored numbers."""
        return self._codec.decode(stored)

    def texels(self) -> F32:
        """All texels, (rows, W, channels) float32, as lookups and observers read them."""
        return np.stack([self._codec.decode(plane) for plane in self.planes], axis=-1)

    def write(self, channel: int, where: Slices, values: F32, alive: Mask | None = None) -> None:
        """Store values in a rectangle of a channel, where `alive` is true; None is everywhere."""
        stored = self._codec.encode(values)
        if alive is None:
            self.planes[channel][where] = stored
        else:
            np.copyto(self.planes[channel][where], stored, where=alive)

    def blend_add(
        self, channel: int, where: Slices, values: F32, alive: Mask | None = None
    ) -> None:
        """Blend values into a rectangle of a channel by glBlendFunc(GL_ONE, GL_ONE)."""
        part = self.planes[channel][where]
        total = self._codec.add(part, self._codec.encode(values))
        np.copyto(part, total, where=True if alive is None else alive)

    def blend(
        self, blend: Blend, where: Slices, color: Sequence[F32], writes: Iterable[int]
    ) -> list[F32]:
        """What the channels hold after a colour (R, G, B, A) was blended there.

        writes: the channels that are needed.
        """
        needed = {*writes, 3} if blend.reads_alpha else {*writes}
        source = {c: self.decode(self._codec.encode(color[c])) for c in needed}
        held = dict(zip("rgba", (self.decode(p[where]) for p in self.planes), strict=False))
        held |= {digit: np.full((1, 1), float(digit), np.float32) for digit in "01"}
        there, texel_format = [held[s] for s in self.texture.format.reads], self.texture.format
        values = {c: blend.channel(c, source, there, texel_format) for c in writes}
        return [np.broadcast_to(values.get(c, 0.0), color[0].shape) for c in range(len(color))]

    def load(self, matrix: F32, region: Region, rect: Rect, packing: Packing) -> None:
        """Pack a region of a matrix into a rectangle; the padding is 0."""
        for channel, view in enumerate(views_of(matrix, region, rect, packing)):
            part, (rows, columns) = self.planes[channel][slices(rect)], view.shape
            part[rows:] = 0
            part[:rows, columns:] = 0
            part[:rows, :columns] = self._codec.encode(view)

    def unload(self, matrix: F32, region: Region, rect: Rect, packing: Packing) -> None:
        """Unpack a rectangle into a region of a matrix; the padding is dropped."""
        for channel, view in enumerate(views_of(matrix, region, rect, packing)):
            rows, columns = view.shape
            view[...] = self._codec.decode(self.planes[channel][slices(rect)][:rows, :columns])

    def copy(self, where: Slices, source: Storage, source_where: Slices) -> None:
        """Copy a rectangle of another texture of the same format, bit for bit."""
        for mine, theirs in zip(self.planes, source.planes, strict=True):
            mine[where] = theirs[source_where]


def slices(rect: Rect) -> Slices:
    """The rows and columns of a rectangle of texels."""
    return slice(rect.y, rect.y + rect.height), slice(rect.x, rect.x + rect.width)


def stored_dtype(texel_format: Format) -> type[np.generic]:
    """The type in which a format stores a channel."""
    return _codec(texel_format).dtype


def encode(values: F32, texel_format: Format) -> Stored:
    """Float32 values as a format stores them."""
    return _codec(texel_format).encode(values)


def decode(stored: Stored, texel_format: Format) -> F32:
    """Stored numbers of a format as the float32 values that lookups read."""
    return _codec(texel_format).decode(stored)


def pack(matrix: F32, region: Region, rect: Rect, packing: Packing, out: F32 | None = None) -> F32:
    """The texels of a rectangle that holds a region of a matrix: (height, width, channels) float32.

    out: the array to write to, in which padding is already 0; by default a new one.
    """
    if out is None:
        texels = np.zeros((rect.height, rect.width, len(packing.offsets)), np.float32)
    else:
        texels = out
    for channel, values in enumerate(views_of(matrix, region, rect, packing)):
        texels[: values.shape[0], : values.shape[1], channel] = values
    return texels


def unpack(texels: F32, matrix: F32, region: Region, packing: Packing) -> None:
    """Unpack texels (height, width, channels) into a region of a matrix; padding is dropped."""
    height, width, _ = texels.shape
    for channel, view in enumerate(views_of(matrix, region, Rect(0, 0, width, height), packing)):
        view[...] = texels[: view.shape[0], : view.shape[1], channel]


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
