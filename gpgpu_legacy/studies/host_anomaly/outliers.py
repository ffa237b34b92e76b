"""Outliers: sizes with far more time per iteration than those beside them, and with more misses.

The simulated ones rest on no time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from gpgpu_legacy.cache.caches import Cache
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.serial import as_record
from gpgpu_legacy.studies.host_anomaly.simulation import METHOD, WORD_BYTES, HostMisses

_PAPER, _TABLE = "dobravec-bulic-2017", "section-3-2"
_OUTLIER = 1.2  # times the time per iteration beside it
_BESIDE = 0.05  # of n: sizes at most this far away lie beside it


class Row(HostMisses):
    """A size: simulated, published, and predicted. …_ms: of the product; …_ns: of an iteration.

    lines_a_set: of a column of B, at most. is_outlier: by the simulated misses. times_beside: the
    published time over those beside it; None where there are none. predicted_…: None where nothing
    was fitted, and for simulated outliers without a miss penalty.
    """

    lines_a_set: int
    is_outlier: bool
    published_ms: float | None
    published_ns: float | None
    times_beside: float | None
    is_published_outlier: bool
    predicted_ms: float | None = None
    predicted_ns: float | None = None
    is_fitted: bool = False


def make_rows(
    simulated: Sequence[HostMisses], published_ms: Mapping[int, float], cache: Cache
) -> list[Row]:
    """The sizes in order, with their published times. cache: level 2.

    Published outliers are found among all published times, whether their sizes are simulated.
    """
    outliers, ratios = find_outliers(published_ms), times_beside(published_ms)
    return [
        as_record(
            Row,
            one,
            lines_a_set=lines_per_set(one.size, cache),
            is_outlier=one.misses > 2 * needed_misses(cache.line_bytes),
            published_ms=(ms := published_ms.get(one.size)),
            published_ns=None if ms is None else ms * 1e6 / one.size**3,
            times_beside=ratios.get(one.size),
            is_published_outlier=one.size in outliers,
        )
        for one in sorted(simulated, key=lambda one: one.size)
    ]


def needed_misses(line_bytes: int) -> float:
    """The misses per iteration if each line of B is read once for all columns in it.

    An outlier has more than twice as many.
    """
    return WORD_BYTES / line_bytes


def lines_per_set(size: int, cache: Cache) -> int:
    """The most lines of a column of B in one set, where pages are perfectly coloured."""
    lines = np.arange(size, dtype=np.int64) * size * WORD_BYTES // cache.line_bytes
    return int(np.bincount(lines % cache.sets).max())


def find_ways(rows: Sequence[Row]) -> tuple[int, int] | None:
    """The fewest and the most ways that a column fills exactly at the published outliers.

    Where pages are perfectly coloured; None where no number does.
    """
    known = [row for row in rows if row.published_ms is not None]
    most = min((row.lines_a_set for row in known if row.is_published_outlier), default=0)
    fewest = 1 + max((row.lines_a_set for row in known if not row.is_published_outlier), default=0)
    return (fewest, most) if fewest <= most else None


# Published times --------------------------------------------------------------------------------


def published_times() -> dict[int, float]:
    """The host's published times by size, in ms: from Section 3.2, then from the tables."""
    tables = sorted(find_paper(_PAPER).measured, key=lambda table: not table.id.endswith(_TABLE))
    times: dict[int, float] = {}
    for table in tables:
        for series in table.series:
            if series.method == METHOD:
                for cell in series.cells:
                    times.setdefault(cell.size, cell.value)
    return times


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
