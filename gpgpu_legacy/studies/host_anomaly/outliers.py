"""Outliers: sizes whose published time per iteration is far above that of the sizes beside it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

_OUTLIER = 1.2  # times the time per iteration beside it
_BESIDE = 0.05  # of n: sizes at most this far away lie beside it


def times_beside(published_ms: Mapping[int, float]) -> dict[int, float]:
    """The time per iteration of each size over that beside it.

    It is the median of the sizes beside it. Where there are none, it is the longer of the times at
    the next smaller and the next larger size, since times grow with n; the smallest and the largest
    size are then left out.
    """
    times = {n: ms / n**3 for n, ms in sorted(published_ms.items())}
    ratios = {}
    for size, time in times.items():
        near = [times[n] for n in _near(size, times)]
        smaller = [n for n in times if n < size]
        larger = [n for n in times if n > size]
        if near:
            ratios[size] = time / median(near)
        elif smaller and larger:
            ratios[size] = time / max(times[smaller[-1]], times[larger[0]])
    return ratios


def find_outliers(published_ms: Mapping[int, float]) -> dict[int, tuple[int, ...]]:
    """The sizes whose time per iteration is an outlier, each with those beside it."""
    return {
        size: _near(size, published_ms) or _next(size, published_ms)
        for size, ratio in times_beside(published_ms).items()
        if ratio > _OUTLIER
    }


def _near(size: int, sizes: Mapping[int, float]) -> tuple[int, ...]:
    return tuple(n for n in sorted(sizes) if 0 < abs(n - size) <= _BESIDE * size)


def _next(size: int, sizes: Mapping[int, float]) -> tuple[int, ...]:
    return max(n for n in sizes if n < size), min(n for n in sizes if n > size)
