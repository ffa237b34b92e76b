"""The time model: an iteration takes a base time, and a penalty for each miss.

    t = n³ · (base_ns + dtlb_ns · DTLB misses + miss_ns · misses, per iteration)

The penalties, none below 0, are fitted by least squares to the published times at FIT_SIZES and to
no others; all other sizes are predictions. Where the misses are the same at all of those sizes, no
miss penalty can be fitted; outliers are then left out of the fit. The base time includes everything
else: the arithmetic, and a line from level 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gpgpu_legacy.studies.host_anomaly.simulation import HostMisses

FIT_SIZES = (480, 992, 1008, 1024, 1040, 1056)
"""n = 1024, the largest outlier, its neighbours, and a size that fits the DTLB."""

_SAME_MISSES = 0.01  # per iteration: no penalty can be fitted to sizes that differ by less
_OUTLIER = 1.2  # times the median time per iteration at the sizes beside it
_BESIDE = 0.05  # of n: sizes at most this far away lie beside it


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

    def iteration_ns(self, simulated: HostMisses) -> float:
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
    import numpy as np
    from scipy.optimize import nnls

    has_misses = _differ([size.misses for size in simulated])
    if not has_misses:
        outliers = find_outliers(published_ms)
        simulated = [size for size in simulated if size.size not in outliers]
    has_walks = _differ([size.dtlb_misses for size in simulated])
    sizes = tuple(size.size for size in simulated)
    columns = [
        [1.0 for _ in simulated],
        [size.dtlb_misses if has_walks else 0.0 for size in simulated],
        [size.misses if has_misses else 0.0 for size in simulated],
    ]
    times = [published_ms[size] * 1e6 / size**3 for size in sizes]
    base, walk, miss = nnls(np.array(columns).T, np.array(times))[0].tolist()
    return Penalties(base, walk if has_walks else None, miss if has_misses else None, sizes)


def _differ(numbers: Sequence[float]) -> bool:
    return max(numbers) - min(numbers) >= _SAME_MISSES


def find_outliers(published_ms: Mapping[int, float]) -> dict[int, tuple[int, ...]]:
    """The sizes whose time per iteration is an outlier, each with its neighbours."""
    times = {n: ms / n**3 for n, ms in sorted(published_ms.items())}
    outliers = {}
    for size, time in times.items():
        near = tuple(n for n in times if 0 < abs(n - size) <= _BESIDE * size)
        if near and time > _OUTLIER * median(times[n] for n in near):
            outliers[size] = near
    return outliers
