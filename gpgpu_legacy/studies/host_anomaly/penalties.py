"""The time model: an iteration takes a base time, and a penalty for each miss.

    t = n³ · (base_ns + dtlb_ns · DTLB misses + miss_ns · misses, per iteration)

The penalties, none below 0, are fitted by least squares to the published times at FIT_SIZES and to
no others; all other sizes are predictions. Where the misses are the same at all of those sizes, no
miss penalty can be fitted; outliers are then left out of the fit. The base time includes everything
else: the arithmetic, and a line from level 2.

Sizes with the same misses are one point for such a fit, however many they are. With as many points
as penalties the fit is saturated: it passes through the points, whatever their times, and shows
nothing about the model. `Support` says what a fit rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.studies.host_anomaly.outliers import find_outliers
from gpgpu_legacy.studies.host_anomaly.simulation import HostMisses

ANCHOR = 480
"""The size in the fit that fits the DTLB."""

FIT_SIZES = (ANCHOR, 992, 1008, 1024, 1040, 1056)
"""n = 1024, the largest outlier, its neighbours, and the anchor."""

_SAME_MISSES = 0.05  # per iteration: sizes that differ by less are one point


class Misses(Protocol):
    """The simulated misses at a size, per iteration."""

    @property
    def misses(self) -> float: ...

    @property
    def dtlb_misses(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Penalties:
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

    def iteration_ns(self, simulated: Misses) -> float:
        """The time of an iteration with these misses."""
        dtlb_ns, miss_ns = self.dtlb_ns or 0.0, self.miss_ns or 0.0
        return self.base_ns + dtlb_ns * simulated.dtlb_misses + miss_ns * simulated.misses


def fit_published(
    simulated: Mapping[int, HostMisses], published_ms: Mapping[int, float]
) -> Penalties | None:
    """The penalties from the published times at FIT_SIZES; None where none are published."""
    fitted = [simulated[size] for size in FIT_SIZES if size in published_ms]
    return fit(fitted, published_ms) if fitted else None


def fit(simulated: Sequence[HostMisses], published_ms: Mapping[int, float]) -> Penalties:
    """The penalties, by least squares on the published times of these sizes."""
    has_misses = _differ([size.misses for size in simulated])
    if not has_misses:
        outliers = find_outliers(published_ms)
        simulated = [size for size in simulated if size.size not in outliers]
    has_walks = _differ([size.dtlb_misses for size in simulated])
    sizes = tuple(size.size for size in simulated)
    columns = _columns(simulated, has_walks=has_walks, has_misses=has_misses)
    times = [_iteration_ns(size, published_ms) for size in sizes]
    base, walk, miss = _non_negative(columns, np.array(times)).tolist()
    return Penalties(base, walk if has_walks else None, miss if has_misses else None, sizes)


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


def _columns(
    simulated: Sequence[HostMisses], *, has_walks: bool, has_misses: bool
) -> NDArray[np.float64]:
    """The design matrix, float64 [sizes, 3]; a column of zeros for a penalty that is not fitted."""
    return np.array(
        [
            [1.0, size.dtlb_misses if has_walks else 0.0, size.misses if has_misses else 0.0]
            for size in simulated
        ]
    )


def _iteration_ns(size: int, published_ms: Mapping[int, float]) -> float:
    return published_ms[size] * 1e6 / size**3


def _differ(numbers: Sequence[float]) -> bool:
    return max(numbers) - min(numbers) >= _SAME_MISSES


# What a fit rests on -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FittedSize:
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


@dataclass(frozen=True, slots=True)
class Support:
    """What a fit rests on.

    points: the sizes of the fit, those with the same misses together. Ranges: the smallest and the
    largest of the fits to one size of each point.
    """

    points: tuple[tuple[int, ...], ...]
    parameters: int
    sizes: tuple[FittedSize, ...]
    base_range_ns: tuple[float, float] | None
    dtlb_range_ns: tuple[float, float] | None
    miss_range_ns: tuple[float, float] | None

    @property
    def degrees_of_freedom(self) -> int:
        """Points with different misses that are left to test the model with."""
        return len(self.points) - self.parameters

    @property
    def is_saturated(self) -> bool:
        return self.degrees_of_freedom <= 0


def support(
    penalties: Penalties, simulated: Mapping[int, HostMisses], published_ms: Mapping[int, float]
) -> Support:
    """What the penalties rest on. simulated: at least their sizes."""
    fitted = [simulated[n] for n in penalties.sizes]
    points = _points(fitted)
    fits = [fit([simulated[n] for n in chosen], published_ms) for chosen in product(*points)]
    sizes = tuple(
        FittedSize(
            size.size,
            _iteration_ns(size.size, published_ms),
            penalties.iteration_ns(size),
            leverage,
            _left_out(size, fitted, penalties.parameters, published_ms),
        )
        for size, leverage in zip(fitted, _leverages(penalties, fitted), strict=True)
    )
    return Support(
        points,
        penalties.parameters,
        sizes,
        _range([one.base_ns for one in fits]),
        _range([one.dtlb_ns for one in fits]),
        _range([one.miss_ns for one in fits]),
    )


def _range(numbers: Sequence[float | None]) -> tuple[float, float] | None:
    """The smallest and the largest; None where there are none."""
    known = [number for number in numbers if number is not None]
    return (min(known), max(known)) if known else None


def _points(simulated: Sequence[HostMisses]) -> tuple[tuple[int, ...], ...]:
    """The sizes in groups of those with the same misses."""
    groups: list[list[HostMisses]] = []
    for size in simulated:
        own = next((group for group in groups if _same(group[0], size)), None)
        if own is None:
            groups.append([size])
        else:
            own.append(size)
    return tuple(tuple(size.size for size in group) for group in groups)


def _same(one: HostMisses, other: HostMisses) -> bool:
    return not (
        _differ([one.misses, other.misses]) or _differ([one.dtlb_misses, other.dtlb_misses])
    )


def _leverages(penalties: Penalties, fitted: Sequence[HostMisses]) -> list[float]:
    """The diagonal of the matrix that maps published times to fitted ones."""
    columns = _columns(
        fitted,
        has_walks=penalties.dtlb_ns is not None,
        has_misses=penalties.miss_ns is not None,
    )
    return [float(own) for own in np.diag(columns @ np.linalg.pinv(columns))]


def _left_out(
    size: HostMisses,
    fitted: Sequence[HostMisses],
    parameters: int,
    published_ms: Mapping[int, float],
) -> float | None:
    others = [other for other in fitted if other is not size]
    if len(_points(others)) < parameters:
        return None
    return fit(others, published_ms).iteration_ns(size)
