"""The time model: an iteration takes a base time, and a penalty for each miss.

    t = n³ · (base_ns + dtlb_ns · DTLB misses + miss_ns · misses, per iteration)

The penalties, none below 0, are fitted by least squares to the published times at FIT_SIZES and to
no others; all other sizes are predictions. Where the misses are the same at all of those sizes, no
miss penalty can be fitted; outliers are then left out of the fit. The base time includes everything
else: the arithmetic, and a line from level 2.

Sizes with the same misses are one point for such a fit, however many they are. With as many points
as penalties the fit is saturated: it passes through the points, whatever their times, and shows
nothing about the model. `Support` says what a fit rests on.

The DTLB penalty rests on one size, the anchor, at which the DTLB holds a column of B. Steps down
its columns are also short enough for a stride prefetcher of the time, while those at the other
sizes of the fit are not. So does another anchor give the same penalties?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.serial import Record
from gpgpu_legacy.studies.host_anomaly.outliers import Row
from gpgpu_legacy.studies.host_anomaly.simulation import WORD_BYTES, HostMisses

ANCHOR = 480
"""The size in the fit that fits the DTLB."""

FIT_SIZES = (ANCHOR, 992, 1008, 1024, 1040, 1056)
"""n = 1024, the largest outlier, its neighbours, and the anchor."""

_SAME_MISSES = 0.05  # per iteration: sizes that differ by less are one point


class Penalties(Record):
    """The fitted time model.

    dtlb_ns, miss_ns: the penalty of a DTLB miss, and of a line from memory; None where the sizes
    of the fit say nothing about it. sizes: those that the model is fitted to.
    """

    base_ns: float
    dtlb_ns: float | None
    miss_ns: float | None
    sizes: tuple[int, ...]

    @property
    def parameters(self) -> int:
        """How many numbers are fitted."""
        return 1 + (self.dtlb_ns is not None) + (self.miss_ns is not None)

    def iteration_ns(self, simulated: HostMisses) -> float:
        """The time of an iteration with these misses."""
        dtlb_ns, miss_ns = self.dtlb_ns or 0.0, self.miss_ns or 0.0
        return self.base_ns + dtlb_ns * simulated.dtlb_misses + miss_ns * simulated.misses


def fit(rows: Sequence[Row]) -> Penalties:
    """The penalties, by least squares on the published times of these sizes."""
    has_misses = _differ([row.misses for row in rows])
    if not has_misses:
        rows = [row for row in rows if not row.is_published_outlier]
    has_walks = _differ([row.dtlb_misses for row in rows])
    columns = _columns(rows, has_walks=has_walks, has_misses=has_misses)
    times = np.array([row.published_ns for row in rows])
    base, walk, miss = _non_negative(columns, times).tolist()
    return Penalties(
        base_ns=base,
        dtlb_ns=walk if has_walks else None,
        miss_ns=miss if has_misses else None,
        sizes=tuple(row.size for row in rows),
    )


def _non_negative(columns: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares with no coefficient below 0: the best such fit to some of the columns."""
    fits = (
        np.asarray(np.linalg.lstsq(columns * used, times, rcond=None)[0] * used, np.float64)
        for used in product((0.0, 1.0), repeat=columns.shape[1])
    )
    return min(
        (found for found in fits if (found >= 0).all()),
        key=lambda found: float(np.linalg.norm(columns @ found - times)),
    )


def _columns(rows: Sequence[Row], *, has_walks: bool, has_misses: bool) -> NDArray[np.float64]:
    """The design matrix, float64 [sizes, 3]; a column of zeros for a penalty that is not fitted."""
    return np.array([[1.0, has_walks * row.dtlb_misses, has_misses * row.misses] for row in rows])


def _differ(numbers: Sequence[float]) -> bool:
    return max(numbers) - min(numbers) >= _SAME_MISSES


# What a fit rests on -----------------------------------------------------------------------------


class FittedSize(Record):
    """A size of the fit. Times in ns per iteration.

    leverage: by how much the fitted time changes with the published one. At 1 the fit passes
    through the point whatever its time. left_out_ns: predicted from the other sizes of the fit;
    None where these cannot determine all the penalties.
    """

    size: int
    published_ns: float
    fitted_ns: float
    leverage: float
    left_out_ns: float | None


class Support(Record):
    """What a fit rests on.

    points: the sizes of the fit, those with the same misses together. degrees_of_freedom: points
    that are left to test the model with. Ranges: the smallest and the largest of the fits to one
    size of each point.
    """

    points: tuple[tuple[int, ...], ...]
    parameters: int
    degrees_of_freedom: int
    sizes: tuple[FittedSize, ...]
    base_range_ns: tuple[float, float] | None
    dtlb_range_ns: tuple[float, float] | None
    miss_range_ns: tuple[float, float] | None


def support(penalties: Penalties, rows: Sequence[Row]) -> Support:
    """What the penalties rest on. rows: at least their sizes."""
    fitted = [row for row in rows if row.size in penalties.sizes]
    points = _points(fitted)
    fits = [fit(chosen) for chosen in product(*points)]
    return Support(
        points=tuple(tuple(row.size for row in point) for point in points),
        parameters=penalties.parameters,
        degrees_of_freedom=len(points) - penalties.parameters,
        sizes=tuple(_fitted_sizes(penalties, fitted)),
        base_range_ns=_range([one.base_ns for one in fits]),
        dtlb_range_ns=_range([one.dtlb_ns for one in fits]),
        miss_range_ns=_range([one.miss_ns for one in fits]),
    )


def _fitted_sizes(penalties: Penalties, fitted: Sequence[Row]) -> Iterator[FittedSize]:
    columns = _columns(
        fitted,
        has_walks=penalties.dtlb_ns is not None,
        has_misses=penalties.miss_ns is not None,
    )
    # The matrix that maps published times to fitted ones has the leverages on its diagonal.
    for row, leverage in zip(fitted, np.diag(columns @ np.linalg.pinv(columns)), strict=True):
        assert row.published_ns is not None
        others = [other for other in fitted if other is not row]
        is_determined = len(_points(others)) >= penalties.parameters
        yield FittedSize(
            size=row.size,
            published_ns=row.published_ns,
            fitted_ns=penalties.iteration_ns(row),
            leverage=float(leverage),
            left_out_ns=fit(others).iteration_ns(row) if is_determined else None,
        )


def _range(numbers: Sequence[float | None]) -> tuple[float, float] | None:
    """The smallest and the largest; None where there are none."""
    known = [number for number in numbers if number is not None]
    return (min(known), max(known)) if known else None


def _points(rows: Sequence[Row]) -> list[list[Row]]:
    """The sizes in groups of those with the same misses."""
    groups: list[list[Row]] = []
    for row in rows:
        for group in groups:
            first = group[0]
            if not _differ([first.misses, row.misses]) and not _differ(
                [first.dtlb_misses, row.dtlb_misses]
            ):
                group.append(row)
                break
        else:
            groups.append([row])
    return groups


# Other anchors -----------------------------------------------------------------------------------


class Anchor(Record):
    """The fit with this size in place of the anchor; with none where `size` is None.

    prefetchable: the fraction of the steps down a column that a stride prefetcher could follow.
    """

    size: int | None
    prefetchable: float
    penalties: Penalties


def anchors(rows: Sequence[Row], reach_bytes: int, page_bytes: int) -> tuple[Anchor, ...]:
    """The fit with each size below its others as its anchor, and without any.

    Empty where some of FIT_SIZES are not simulated, or have no published times.
    """
    known = {row.size: row for row in rows if row.published_ns is not None}
    if not {*FIT_SIZES} <= known.keys():
        return ()
    rest = [known[n] for n in FIT_SIZES if n != ANCHOR]
    smallest = min(row.size for row in rest)
    return (
        *(
            Anchor(
                size=n,
                prefetchable=prefetchable(n, reach_bytes, page_bytes),
                penalties=fit([row, *rest]),
            )
            for n, row in known.items()
            if n < smallest and not row.is_published_outlier
        ),
        Anchor(size=None, prefetchable=0.0, penalties=fit(rest)),
    )


def prefetchable(size: int, reach_bytes: int, page_bytes: int) -> float:
    """The fraction of the steps down B's columns that are no longer than this, and within a page.

    B begins with a page.
    """
    if size * WORD_BYTES > reach_bytes:
        return 0.0
    pages = np.arange(size * size).reshape(size, size) * WORD_BYTES // page_bytes
    return float(np.mean(pages[1:] == pages[:-1]))
