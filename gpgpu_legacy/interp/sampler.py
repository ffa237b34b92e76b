"""Texture lookups: nearest texel of a rectangle texture, clamped to its edge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.interp.numeric import F32, Storage

MISSING = (0.0, 0.0, 0.0, 1.0)  # what the channels that a format lacks read as

Planes = list[F32]


def sample_rect(storage: Storage, s: F32, t: F32) -> Planes:
    """Look up a rectangle texture at unnormalised coordinates (spec, section 3.11.6.1).

    s, t: float32 of broadcastable shapes. Texel (i, j) is read for i ≤ t < i + 1, j ≤ s < j + 1.
    Returns four arrays of the shape that s and t broadcast to: a lookup whose coordinates do not
    vary along an axis stays broadcast along it.
    """
    height, width = storage.planes[0].shape
    columns, rows = _index(s, width), _index(t, height)
    planes = [
        _gather(storage.decoded(channel), rows, columns) for channel in range(len(storage.planes))
    ]
    missing = [np.full((1, 1), value, np.float32) for value in MISSING[len(planes) :]]
    return planes + missing


def _index(coordinate: F32, size: int) -> NDArray[np.intp]:
    """The texel that a coordinate falls on; NaN falls on texel 0."""
    clamped = np.clip(np.floor(coordinate), 0, size - 1)
    index: NDArray[np.intp] = np.nan_to_num(clamped, nan=0.0).astype(np.intp)
    return index


def _gather(plane: F32, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> F32:
    """plane[rows, columns], without building a full index where both vary along one axis each."""
    if rows.shape[1] == 1 and columns.shape[0] == 1:
        picked = plane[_run(rows[:, 0])]
        return picked[:, _run(columns[0])]
    return plane[rows, columns]


def _run(index: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Consecutive indices as a slice, which copies nothing."""
    first, last = int(index[0]), int(index[-1])
    if last - first == len(index) - 1 and bool((np.diff(index) == 1).all()):
        return slice(first, last + 1)
    return index
