"""Why Dobravec & Bulić's host is slow at n = 1024 and 1536: MulH's accesses on the host's caches.

The loop of the paper's Listing 1 is followed access by access through the simulated processor
(simulation.py). Its misses say at which sizes there are outliers (evidence.py), without any time.
Then they are turned into times (penalties.py) and compared with the published ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from statistics import mean

from gpgpu_legacy.chips.hosts import Host
from gpgpu_legacy.runtime.devices import thread_count
from gpgpu_legacy.serial import Record, as_record
from gpgpu_legacy.studies.host_anomaly.anchors import Anchor, anchors
from gpgpu_legacy.studies.host_anomaly.cases import Case
from gpgpu_legacy.studies.host_anomaly.evidence import Evidence, evidence, is_outlier
from gpgpu_legacy.studies.host_anomaly.outliers import find_outliers
from gpgpu_legacy.studies.host_anomaly.penalties import (
    ANCHOR,
    FIT_SIZES,
    Penalties,
    Support,
    fit_published,
    support,
)
from gpgpu_legacy.studies.host_anomaly.simulation import (
    ROWS,
    WORD_BYTES,
    HostMisses,
    check_rows,
    simulate_host,
)

UNPUBLISHED_SIZES = (768, 1280, 2048)
"""Further sizes, for which no times are published."""


class Row(
    Record,
    frozen=True,
    kw_only=True,
    rename={
        "size": "n",
        "misses": "misses_per_iteration",
        "is_fitted": "fitted",
        "rows": "rows_counted",
        "walk_misses": "walk_misses_per_iteration",
        "l1_misses": "l1_misses_per_iteration",
        "dtlb_misses": "dtlb_misses_per_iteration",
        "walk_l1_misses": "walk_l1_misses_per_iteration",
    },
):
    """A size: simulated, as HostMisses says, predicted and published.

    …_ms: of the whole product. …_ns: per iteration of the inner loop. predicted_…: None where
    nothing was fitted, and for predicted outliers without a miss penalty. outlier_predicted: see
    `is_outlier`.
    """

    size: int
    misses: float
    predicted_ms: float | None
    published_ms: float | None
    predicted_ns: float | None
    published_ns: float | None
    is_fitted: bool
    outlier_predicted: bool
    rows: int
    walk_misses: float
    l1_misses: float
    dtlb_misses: float
    walk_l1_misses: float


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
    """One case. penalties, support: None where no times are published to fit.

    anchors: the fit with other anchors, where all its sizes have published times.
    """

    case: Case
    evidence: Evidence
    penalties: Penalties | None
    support: Support | None
    rows: tuple[Row, ...]
    outliers: tuple[Outlier, ...]
    anchors: tuple[Anchor, ...]

    @property
    def host(self) -> Host:
        return self.case.host

    @property
    def name(self) -> str:
        """The case's name."""
        return self.case.name

    @property
    def predictions(self) -> tuple[Row, ...]:
        """The sizes that took no part in the fit and have published times."""
        return tuple(row for row in self.rows if row.published_ms and not row.is_fitted)

    def largest_error(self, penalties: Penalties) -> float | None:
        """Of the times that these penalties predict, relative to the published ones.

        At the sizes shown from the anchor up that are neither outliers nor part of the fit.
        """
        outliers = {outlier.size for outlier in self.outliers}
        errors = [
            penalties.iteration_ns(row) / row.published_ns - 1
            for row in self.rows
            if row.published_ns
            and row.size >= ANCHOR
            and row.size not in {*penalties.sizes, *outliers}
        ]
        return max(errors, key=abs) if errors else None

    def extra_misses(self, outlier: Outlier) -> float | None:
        """The extra misses of an outlier over those of the outlier with the longest extra time.

        No penalty is in it, so it can be held against `extra_time`. None without extra misses.
        """
        worst = self._worst
        extra = worst.misses - worst.misses_beside
        return (outlier.misses - outlier.misses_beside) / extra if extra > 0.0 else None

    def extra_time(self, outlier: Outlier) -> float:
        """The published extra time of an outlier over that of the one with the longest."""
        return outlier.published_extra_ns / self._worst.published_extra_ns

    @property
    def _worst(self) -> Outlier:
        return max(self.outliers, key=lambda outlier: outlier.published_extra_ns)


def first_of_each_machine(anomalies: Sequence[Anomaly]) -> list[Anomaly]:
    """The first case of each machine, in order."""
    firsts: dict[str, Anomaly] = {}
    for one in anomalies:
        firsts.setdefault(one.host.name, one)
    return list(firsts.values())


def anomaly(
    cases: Sequence[Case],
    published_ms: Mapping[int, float],
    sizes: Sequence[int],
    rows: int = ROWS,
    progress: Callable[[str], object] = lambda _: None,
) -> list[Anomaly]:
    """Misses, predicted and published times at some sizes, for each case.

    published_ms: of MulH, by size. sizes: those to show; FIT_SIZES are simulated as well where
    they have published times. Outliers are also simulated without page walks. progress: called
    with each size that is done. Sizes are simulated in parallel on all cores.
    """
    shown = tuple(dict.fromkeys(sizes))
    wanted = _wanted(sizes, published_ms)
    for size in wanted:
        check_rows(size, rows)
    beside = _outliers_of(wanted, published_ms)
    walking = [(case.hierarchy, case.paging) for case in cases]
    without_walks = [(replace(hierarchy, walks=False), paging) for hierarchy, paging in walking]
    simulated: dict[int, list[HostMisses]] = {}
    with ThreadPoolExecutor(thread_count()) as pool:
        waiting = {
            pool.submit(simulate_host, n, walking + (without_walks if n in beside else []), rows): n
            for n in wanted
        }
        try:
            for done in as_completed(waiting):
                simulated[waiting[done]] = done.result()
                progress(f"n = {waiting[done]}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    anomalies = []
    for i, case in enumerate(cases):
        own = {size: by_case[i] for size, by_case in simulated.items()}
        without = {n: simulated[n][len(cases) + i] for n in beside}
        anomalies.append(_anomaly(case, own, without, published_ms, shown))
    return anomalies


def _anomaly(
    case: Case,
    simulated: Mapping[int, HostMisses],
    without_walks: Mapping[int, HostMisses],
    published_ms: Mapping[int, float],
    shown: Sequence[int],
) -> Anomaly:
    """without_walks: the outliers among the sizes simulated."""
    host = case.host
    beside = _outliers_of(simulated, published_ms)
    penalties = fit_published(simulated, published_ms)
    row_at = {n: _row(host, simulated[n], penalties, published_ms.get(n)) for n in simulated}
    outliers = tuple(
        _outlier(row_at[n], [row_at[near] for near in beside[n]], without_walks[n], penalties, host)
        for n in shown
        if n in beside
    )
    return Anomaly(
        case,
        evidence(simulated, published_ms, case.hierarchy.l2),
        penalties,
        None if penalties is None else support(penalties, simulated, published_ms),
        tuple(row_at[n] for n in shown),
        outliers,
        anchors(
            simulated,
            published_ms,
            host.prefetch_stride_bytes.value,
            case.hierarchy.page_bytes,
        ),
    )


def count_sizes(sizes: Sequence[int], published_ms: Mapping[int, float]) -> int:
    """How many sizes `anomaly` simulates."""
    return len(_wanted(sizes, published_ms))


def _wanted(sizes: Sequence[int], published_ms: Mapping[int, float]) -> list[int]:
    """All sizes to simulate, the slowest first."""
    return sorted({*sizes, *(n for n in FIT_SIZES if n in published_ms)}, reverse=True)


def _outliers_of(
    sizes: Iterable[int], published_ms: Mapping[int, float]
) -> dict[int, tuple[int, ...]]:
    """The outliers among these sizes, each with those of them that are beside it."""
    return find_outliers({n: published_ms[n] for n in sizes if n in published_ms})


def _row(
    host: Host, simulated: HostMisses, penalties: Penalties | None, published_ms: float | None
) -> Row:
    steps = simulated.size**3
    outlier = is_outlier(simulated, host.hierarchy.l2.line_bytes)
    predicted_ms = None
    if penalties is not None and (penalties.miss_ns is not None or not outlier):
        predicted_ms = penalties.iteration_ns(simulated) * steps / 1e6
    return as_record(
        Row,
        simulated,
        predicted_ms=predicted_ms,
        published_ms=published_ms,
        predicted_ns=None if predicted_ms is None else predicted_ms * 1e6 / steps,
        published_ns=None if published_ms is None else published_ms * 1e6 / steps,
        is_fitted=penalties is not None and simulated.size in penalties.sizes,
        outlier_predicted=outlier,
    )


def _outlier(
    row: Row,
    beside: Sequence[Row],
    without_walks: HostMisses,
    penalties: Penalties | None,
    host: Host,
) -> Outlier:
    time, *times_beside = (near.published_ns for near in (row, *beside) if near.published_ns)
    time_beside = mean(times_beside)
    misses, misses_beside = row.misses, mean(near.misses for near in beside)
    penalty = None if penalties is None else penalties.miss_ns
    return Outlier(
        size=row.size,
        beside=tuple(near.size for near in beside),
        published_ns=time,
        published_ns_beside=time_beside,
        misses=misses,
        misses_beside=misses_beside,
        misses_without_walks=without_walks.misses,
        dtlb_misses=row.dtlb_misses,
        dtlb_misses_beside=mean(near.dtlb_misses for near in beside),
        walk_misses=row.walk_misses,
        predicted_extra_ns=None if penalty is None else penalty * (misses - misses_beside),
        needed_misses=None if not penalty else misses_beside + (time - time_beside) / penalty,
        matrices_bytes=3 * WORD_BYTES * row.size**2,
        memory_bytes=host.hierarchy.memory_bytes,
    )
