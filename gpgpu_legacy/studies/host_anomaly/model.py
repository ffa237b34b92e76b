"""Why Dobravec & Bulić's host is slow at n = 1024 and 1536: MulH's accesses on the host's caches.

The loop of the paper's Listing 1 is followed access by access through the simulated processor
(simulation.py); its misses are turned into times (penalties.py) and compared with the published
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from statistics import mean

from gpgpu_legacy.cache.host import Paging
from gpgpu_legacy.chips.hosts import Host
from gpgpu_legacy.runtime.devices import thread_count
from gpgpu_legacy.studies.host_anomaly.penalties import (
    FIT_SIZES,
    Penalties,
    find_outliers,
    fit_published,
)
from gpgpu_legacy.studies.host_anomaly.simulation import (
    ROWS,
    WORD_BYTES,
    HostMisses,
    check_rows,
    simulate_host,
)

PREDICTED_SIZES = (512, 560, 640, 720, 768, 800, 1280, 2048)
"""Further sizes, at which the paper mentions no anomaly; some have published times."""

PAGINGS = ("coloured", "miscoloured:0.01", "random")


@dataclass(frozen=True, slots=True)
class Row:
    """A size: simulated, predicted and published. Times in ms, of the whole product.

    predicted_ms: None where nothing was fitted, and for predicted outliers without a miss penalty.
    outlier_predicted: there are more than twice the misses needed to read each line of B once for
    as many columns of C as it has elements.
    """

    simulated: HostMisses
    predicted_ms: float | None
    published_ms: float | None
    is_fitted: bool
    outlier_predicted: bool

    @property
    def size(self) -> int:
        """n, of the n×n matrices."""
        return self.simulated.size

    @property
    def predicted_ns(self) -> float | None:
        """Predicted nanoseconds per iteration of the inner loop."""
        return _per_iteration(self.predicted_ms, self.size)

    @property
    def published_ns(self) -> float | None:
        """Published nanoseconds per iteration of the inner loop."""
        return _per_iteration(self.published_ms, self.size)


def _per_iteration(milliseconds: float | None, size: int) -> float | None:
    return None if milliseconds is None else milliseconds * 1e6 / size**3


@dataclass(frozen=True, slots=True)
class Outlier:
    """A size whose published time is an outlier, beside the neighbouring sizes (their means).

    All numbers are per iteration: times in ns, misses of level 2 and of the DTLB.
    predicted_extra_ns: the penalty of the misses beyond those beside it. needed_misses: how many
    misses would explain the published time. misses_without_walks: with page walks that load
    nothing. matrices_bytes: A, B and C; memory_bytes: the machine's.
    """

    size: int
    beside: tuple[int, ...]
    published_ns: float
    published_ns_beside: float
    misses: float
    misses_beside: float
    misses_without_walks: float
    dtlb_misses: float
    dtlb_misses_beside: float
    walk_misses: float
    predicted_extra_ns: float | None
    needed_misses: float | None
    matrices_bytes: int
    memory_bytes: int

    @property
    def published_extra_ns(self) -> float:
        """The published time beyond that beside it."""
        return self.published_ns - self.published_ns_beside

    @property
    def dtlb_miss_would_cost_ns(self) -> float | None:
        """The DTLB miss penalty that would explain it; None where there are no more DTLB misses.

        It puts the paper's own explanation, paging, to the test.
        """
        more = self.dtlb_misses - self.dtlb_misses_beside
        return self.published_extra_ns / more if more > 0.0 else None


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One machine with one paging. penalties: None where no times are published to fit."""

    host: Host
    paging: Paging
    penalties: Penalties | None
    rows: tuple[Row, ...]
    outliers: tuple[Outlier, ...]

    @property
    def name(self) -> str:
        """The machine and the paging."""
        return f"{self.host.name}, {self.paging}"


def anomaly(
    cases: Sequence[tuple[Host, Paging]],
    published_ms: Mapping[int, float],
    sizes: Sequence[int],
    rows: int = ROWS,
    progress: Callable[[str], None] | None = None,
) -> list[Anomaly]:
    """Misses, predicted and published times at some sizes, for each machine and paging.

    published_ms: of MulH, by size. sizes: those to show; FIT_SIZES are simulated as well where
    they have published times. Outliers are also simulated without page walks. progress: called
    with each size that is done. Sizes are simulated in parallel on all cores.
    """
    shown = tuple(dict.fromkeys(sizes))
    wanted = _wanted(sizes, published_ms)
    for size in wanted:
        check_rows(size, rows)
    beside = find_outliers({n: published_ms[n] for n in wanted if n in published_ms})
    hierarchies = [(host.hierarchy, paging) for host, paging in cases]
    without_walks = [(replace(hierarchy, walks=False), paging) for hierarchy, paging in hierarchies]
    simulated: dict[int, list[HostMisses]] = {}
    with ThreadPoolExecutor(thread_count()) as pool:
        waiting = {
            pool.submit(
                simulate_host, n, hierarchies + (without_walks if n in beside else []), rows
            ): n
            for n in wanted
        }
        try:
            for done in as_completed(waiting):
                simulated[waiting[done]] = done.result()
                if progress is not None:
                    progress(f"n = {waiting[done]}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    anomalies = []
    for i, (host, paging) in enumerate(cases):
        own = {size: by_case[i] for size, by_case in simulated.items()}
        penalties = fit_published(own, published_ms)
        row_at = {n: _row(host, own[n], penalties, published_ms.get(n)) for n in own}
        outliers = tuple(
            _outlier(
                row_at[n],
                [row_at[near] for near in beside[n]],
                simulated[n][len(cases) + i],
                penalties,
                host,
            )
            for n in shown
            if n in beside
        )
        own_rows = tuple(row_at[n] for n in shown)
        anomalies.append(Anomaly(host, paging, penalties, own_rows, outliers))
    return anomalies


def count_sizes(sizes: Sequence[int], published_ms: Mapping[int, float]) -> int:
    """How many sizes `anomaly` simulates."""
    return len(_wanted(sizes, published_ms))


def _wanted(sizes: Sequence[int], published_ms: Mapping[int, float]) -> list[int]:
    """All sizes to simulate, the slowest first."""
    return sorted({*sizes, *(n for n in FIT_SIZES if n in published_ms)}, reverse=True)


def _row(
    host: Host, simulated: HostMisses, penalties: Penalties | None, published_ms: float | None
) -> Row:
    size = simulated.size
    is_outlier = simulated.misses > 2 * WORD_BYTES / host.hierarchy.l2.line_bytes
    predicted = None
    if penalties is not None and (penalties.miss_ns is not None or not is_outlier):
        predicted = penalties.iteration_ns(simulated) * size**3 / 1e6
    is_fitted = penalties is not None and size in penalties.sizes
    return Row(simulated, predicted, published_ms, is_fitted, is_outlier)


def _outlier(
    row: Row,
    beside: Sequence[Row],
    without_walks: HostMisses,
    penalties: Penalties | None,
    host: Host,
) -> Outlier:
    time, *times_beside = (near.published_ns for near in (row, *beside) if near.published_ns)
    time_beside = mean(times_beside)
    misses, misses_beside = row.simulated.misses, mean(near.simulated.misses for near in beside)
    penalty = None if penalties is None else penalties.miss_ns
    return Outlier(
        size=row.size,
        beside=tuple(near.size for near in beside),
        published_ns=time,
        published_ns_beside=time_beside,
        misses=misses,
        misses_beside=misses_beside,
        misses_without_walks=without_walks.misses,
        dtlb_misses=row.simulated.dtlb_misses,
        dtlb_misses_beside=mean(near.simulated.dtlb_misses for near in beside),
        walk_misses=row.simulated.walk_misses,
        predicted_extra_ns=None if penalty is None else penalty * (misses - misses_beside),
        needed_misses=None if not penalty else misses_beside + (time - time_beside) / penalty,
        matrices_bytes=3 * WORD_BYTES * row.size**2,
        memory_bytes=host.hierarchy.memory_bytes,
    )
