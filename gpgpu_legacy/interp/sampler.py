"""Texture lookups: coordinates to filtered texels, by GL 1.5, sections 3.8.6 to 3.8.9.

All arithmetic is float32. Along each axis a coordinate becomes one tap (nearest) or two (linear): a
texel index, a weight, and whether the texel is inside the texture. The filtered value is the sum
over the taps in the order of GL's equations (3.24) and (3.25), with s fastest:
((1 - α)(1 - β))·τ00 + (α(1 - β))·τ10 + ((1 - α)β)·τ01 + (αβ)·τ11. Hardware may use fewer bits for
the weights. A NaN coordinate reads texel 0.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.interp.numeric import Mask, Storage, Stored
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.textures import Filter, Sampler, TextureKind, Wrap

Planes = list[F32]
Index = NDArray[np.intp]

_HALF, _ONE = np.float32(0.5), np.float32(1.0)


@frozen
class _Tap:
    """A texel of each lookup along one axis. weight None: 1; inside None: all are inside."""

    index: Index
    weight: F32 | None = None
    inside: Mask | None = None


_ONLY = [_Tap(np.zeros((1, 1), np.intp))]


def sample(storage: Storage, sampler: Sampler, s: F32, t: F32, r: F32) -> Planes:
    """Look up a texture of any kind but BUFFER (extension, section 3.11.6).

    s, t, r: float32 arrays of shapes that broadcast: unnormalised for RECT, a direction for CUBE,
    else normalised. Coordinates that the kind does not use are ignored. Returns r, g, b and a,
    float32, each in the shape that the used coordinates broadcast to.
    """
    extent, filter_ = storage.texture.extent, sampler.filter
    wraps = (sampler.wrap_s, sampler.wrap_t, sampler.wrap_r)
    taps_t = taps_r = _ONLY
    match storage.texture.kind:
        case TextureKind.CUBE:
            face, s, t = _cube_coordinates(s, t, r)
            edge = (Wrap.CLAMP_TO_EDGE,) * 2
            taps_s, taps_t = _axes((s, t), (extent.width, extent.height), edge, filter_)
            taps_r = [_Tap(face)]
        case TextureKind.T3D:
            sizes = (extent.width, extent.height, extent.depth)
            taps_s, taps_t, taps_r = _axes((s, t, r), sizes, wraps, filter_)
        case TextureKind.T1D:
            (taps_s,) = _axes((s,), (extent.width,), wraps, filter_)
        case kind:
            normalised = kind is not TextureKind.RECT
            sides = (extent.width, extent.height)
            taps_s, taps_t = _axes((s, t), sides, wraps, filter_, normalised=normalised)
    planes = [_filtered(storage, plane, taps_s, taps_t, taps_r) for plane in storage.planes]
    held = dict(zip("rgba", planes, strict=False))
    held |= {digit: np.full((1, 1), float(digit), np.float32) for digit in "01"}
    return [held[source] for source in storage.texture.format.reads]


# Coordinates to taps -------------------------------------------------------------------------


def _axes(
    coordinates: tuple[F32, ...],
    sizes: tuple[int, ...],
    wraps: tuple[Wrap, ...],
    filter_: Filter,
    *,
    normalised: bool = True,
) -> list[list[_Tap]]:
    taps = _linear if filter_ is Filter.LINEAR else _nearest
    return [
        taps(_texels(coordinate, size if normalised else 1, wrap), size, wrap)
        for coordinate, size, wrap in zip(coordinates, sizes, wraps, strict=False)
    ]


def _texels(coordinate: F32, scale: int, wrap: Wrap) -> F32:
    """The coordinate in texels, GL's u = 2ⁿ·s; if the texture repeats, of the fraction of s."""
    if wrap is Wrap.REPEAT:
        coordinate = coordinate - np.floor(coordinate)
    return coordinate if scale == 1 else coordinate * np.float32(scale)


def _nearest(u: F32, size: int, _: Wrap) -> list[_Tap]:
    """The texel that a coordinate is in: its floor, at most the last one. fmax makes a NaN 0.

    All wrap modes but REPEAT select the same texels, and REPEAT has been applied.
    """
    return [_Tap(np.fmin(np.fmax(np.floor(u), 0), size - 1).astype(np.intp))]


def _linear(u: F32, size: int, wrap: Wrap) -> list[_Tap]:
    """The two texels whose centres are nearest, weighted 1 - α and α."""
    u = np.where(np.isnan(u), _HALF, u)
    if wrap is not Wrap.REPEAT:
        border = _HALF if wrap is Wrap.CLAMP_TO_EDGE else np.float32(0.0)
        u = np.clip(u, border, np.float32(size) - border)
    low = np.floor(u - _HALF)
    alpha = (u - _HALF) - low
    first = low.astype(np.intp)
    return [_tap(first, _ONE - alpha, size, wrap), _tap(first + 1, alpha, size, wrap)]


def _tap(index: Index, weight: F32, size: int, wrap: Wrap) -> _Tap:
    match wrap:
        case Wrap.REPEAT:
            return _Tap(index % size, weight)
        case Wrap.CLAMP:
            return _Tap(np.clip(index, 0, size - 1), weight, (index >= 0) & (index < size))
    return _Tap(np.clip(index, 0, size - 1), weight)


def _cube_coordinates(x: F32, y: F32, z: F32) -> tuple[Index, F32, F32]:
    """The face that a direction selects, and (s, t) on it (GL 1.5, table 3.19: sc, tc, ma).

    GL does not say which axis is major if magnitudes are equal. Here z wins over y, and y over x.
    """
    along_x, along_y, along_z = np.abs(x), np.abs(y), np.abs(z)
    on_z = along_z >= np.maximum(along_x, along_y)
    on_y = ~on_z & (along_y >= along_x)
    ma: F32 = np.where(on_z, along_z, np.where(on_y, along_y, along_x))
    sc: F32 = np.where(on_y, x, np.where(x < 0, z, -z))
    sc = np.where(on_z, np.where(z < 0, -x, x), sc)
    tc: F32 = np.where(on_y, np.where(y < 0, -z, z), -y)
    face = np.where(on_z, 4 + (z < 0), np.where(on_y, 2 + (y < 0), 0 + (x < 0)))
    return face.astype(np.intp), _on_face(sc, ma), _on_face(tc, ma)


def _on_face(coordinate: F32, ma: F32) -> F32:
    return (coordinate / ma + _ONE) * _HALF


# Taps to texels ------------------------------------------------------------------------------


def _filtered(
    storage: Storage, plane: Stored, taps_s: list[_Tap], taps_t: list[_Tap], taps_r: list[_Tap]
) -> F32:
    """One filtered channel. Layers are stacked: layer k begins at row k·height."""
    total: F32 | None = None
    for k, j, i in product(taps_r, taps_t, taps_s):
        rows = j.index if k is _ONLY[0] else k.index * storage.texture.extent.height + j.index
        texel = storage.decode(_gather(plane, rows, i.index))
        for tap in (i, j, k):
            if tap.inside is not None:
                texel = np.where(tap.inside, texel, np.float32(0.0))
        weights = [tap.weight for tap in (i, j, k) if tap.weight is not None]
        if weights:
            weight = weights[0]
            for factor in weights[1:]:
                weight = weight * factor
            texel = weight * texel
        total = texel if total is None else total + texel
    assert total is not None
    return total


def _gather(plane: Stored, rows: Index, columns: Index) -> Stored:
    """plane[rows, columns], without a full index array if each varies along one axis only."""
    if rows.shape[1] == 1 and columns.shape[0] == 1:
        picked = plane[_run(rows[:, 0])]
        return picked[:, _run(columns[0])]
    return plane[rows, columns]


def _run(index: Index) -> Index | slice:
    """Consecutive indices as a slice, which needs no copy."""
    first, last = int(index[0]), int(index[-1])
    if last - first == len(index) - 1 and bool((index[1:] - index[:-1] == 1).all()):
        return slice(first, last + 1)
    return index
