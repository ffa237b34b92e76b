"""How formats store numbers: channels as float32 in, stored, and as float32 out again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.plan import Packing, Rect, Region, Texture

F32 = NDArray[np.float32]
Stored = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.uint8]
Slices = tuple[slice, slice]
Mask = NDArray[np.bool_]

_UNORM8_MAX = 255


@dataclass(frozen=True, slots=True)
class _Codec:
    """How a format's channels are stored; cast: whether NumPy's own conversion does that."""

    dtype: type[np.generic]
    encode: Callable[[F32], Stored]
    decode: Callable[[Stored], F32]
    add: Callable[[Stored, Stored], Stored]
    cast: bool = True


def _identity(values: Any) -> Any:
    return values


def _encode_unorm8(values: F32) -> NDArray[np.uint8]:
    """Clamp to [0, 1] and round to the nearest of 256 values (GL 2.1, section 2.14.9); NaN is 0."""
    clamped = np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)
    scaled = np.floor(clamped * np.float32(_UNORM8_MAX) + np.float32(0.5))
    stored: NDArray[np.uint8] = scaled.astype(np.uint8)
    return stored


def _decode_unorm8(stored: Stored) -> F32:
    return stored.astype(np.float32) / np.float32(_UNORM8_MAX)


def _add_unorm8(destination: Stored, source: Stored) -> Stored:
    """Blending saturates: the sum ends at 255."""
    total = destination.astype(np.uint16) + source.astype(np.uint16)
    return np.minimum(total, _UNORM8_MAX).astype(np.uint8)


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
    (Numeric.UNORM, 8): _Codec(np.uint8, _encode_unorm8, _decode_unorm8, _add_unorm8, cast=False),
}


def _codec(texel_format: Format) -> _Codec:
    return _CODECS[texel_format.numeric, texel_format.bits_per_channel]


class Storage:
    """The texels of one texture: a plane (rows, W) a channel, as its format stores them."""

    def __init__(self, texture: Texture, planes: Sequence[Stored] = ()) -> None:
        """Texels with the texture's initial value; zeros where that is undefined.

        planes: memory for them, (rows, W) of `stored_dtype`; new memory where none is given.
        """
        self.texture = texture
        self._codec = _codec(texture.format)
        shape = (texture.extent.rows, texture.extent.width)
        self.planes: list[Stored] = list(planes) or [
            np.empty(shape, self._codec.dtype) for _ in range(texture.format.channels)
        ]
        self.reset()

    def reset(self) -> None:
        """Make all texels what they are when a run begins."""
        self.clear(self.texture.initial or (0.0, 0.0, 0.0, 0.0))

    def clear(self, value: Sequence[float]) -> None:
        """Set every texel to one value."""
        for plane, component in zip(self.planes, value, strict=False):
            plane[...] = self._codec.encode(np.asarray(component, np.float32))

    def decode(self, stored: Stored) -> F32:
        """Stored numbers of this texture as lookups see them."""
        return self._codec.decode(stored)

    def decoded(self, channel: int) -> F32:
        """A channel as lookups see it: (rows, W) float32."""
        return self._codec.decode(self.planes[channel])

    def write(self, channel: int, where: Slices, values: F32, alive: Mask | None = None) -> None:
        """Store values in a rectangle of a channel; only where `alive` is true, if it is given."""
        stored = self._codec.encode(values)
        if alive is None:
            self.planes[channel][where] = stored
        else:
            np.copyto(self.planes[channel][where], stored, where=alive)

    def blend_add(
        self, channel: int, where: Slices, values: F32, alive: Mask | None = None
    ) -> None:
        """Add values to a rectangle of a channel as glBlendFunc(GL_ONE, GL_ONE) does."""
        part = self.planes[channel][where]
        total = self._codec.add(part, self._codec.encode(values))
        np.copyto(part, total, where=True if alive is None else alive)

    def load(self, matrix: F32, region: Region, rect: Rect, packing: Packing) -> None:
        """Fill a rectangle with a region of a matrix, as Packing says; the padding is 0."""
        for channel, view in enumerate(_views(matrix, region, rect, packing)):
            part, (rows, columns) = self.planes[channel][slices(rect)], view.shape
            part[rows:] = 0
            part[:rows, columns:] = 0
            if self._codec.cast:
                with np.errstate(over="ignore"):
                    part[:rows, :columns] = view
            else:
                part[:rows, :columns] = self._codec.encode(view)

    def unload(self, matrix: F32, region: Region, rect: Rect, packing: Packing) -> None:
        """Put a rectangle into a region of a matrix; the padding is dropped."""
        for channel, view in enumerate(_views(matrix, region, rect, packing)):
            rows, columns = view.shape
            part = self.planes[channel][slices(rect)][:rows, :columns]
            view[...] = part if self._codec.cast else self._codec.decode(part)

    def copy(self, where: Slices, source: Storage, there: Slices) -> None:
        """Copy a rectangle of another texture of the same format, bit for bit."""
        for mine, theirs in zip(self.planes, source.planes, strict=True):
            mine[where] = theirs[there]


def slices(rect: Rect) -> Slices:
    """The rows and columns of a rectangle of texels."""
    return slice(rect.y, rect.y + rect.height), slice(rect.x, rect.x + rect.width)


def stored_dtype(texel_format: Format) -> type[np.generic]:
    """What the planes of a texture of that format consist of."""
    return _codec(texel_format).dtype


def encode(values: F32, texel_format: Format) -> Stored:
    """Values as a texture of that format stores them."""
    return _codec(texel_format).encode(values)


def decode(stored: Stored, texel_format: Format) -> F32:
    """What lookups find where a texture of that format stores these."""
    return _codec(texel_format).decode(stored)


def pack(matrix: F32, region: Region, rect: Rect, packing: Packing, out: F32 | None = None) -> F32:
    """The texels of a rectangle that holds a region of a matrix: (height, width, channels).

    out: an array for them, in which the padding is 0 already.
    """
    if out is None:
        texels = np.zeros((rect.height, rect.width, len(packing.offsets)), np.float32)
    else:
        texels = out
    for channel, values in enumerate(_views(matrix, region, rect, packing)):
        texels[: values.shape[0], : values.shape[1], channel] = values
    return texels


def unpack(texels: F32, matrix: F32, region: Region, packing: Packing) -> None:
    """Put texels (height, width, channels) into a region of a matrix; the padding is dropped."""
    height, width, _ = texels.shape
    for channel, view in enumerate(_views(matrix, region, Rect(0, 0, width, height), packing)):
        view[...] = texels[: view.shape[0], : view.shape[1], channel]


def _views(matrix: F32, region: Region, rect: Rect, packing: Packing) -> Iterator[F32]:
    """The elements of a region that each channel of a rectangle's texels holds, as views.

    (rows, columns), from the rectangle's lower left on; smaller than it where there is padding.
    """
    part = matrix[
        region.row : region.row + region.rows, region.column : region.column + region.columns
    ]
    part = part.T if packing.transposed else part
    for row, column in packing.offsets:
        view = part[row :: packing.row_step, column :: packing.column_step]
        yield view[: rect.height, : rect.width]
