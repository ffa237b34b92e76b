"""Why Dobravec & Bulić's host is slow at n = 1024 and 1536: MulH's accesses on the host's caches.

The loop of the paper's Listing 1 is followed access by access through the simulated processor
(simulation.py). Its misses say at which sizes there are outliers (outliers.py), without any time.
Then they are turned into times (penalties.py) and compared with the published ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from statistics import mean

from gpgpu_legacy.runtime.devices import thread_count
from gpgpu_legacy.serial import with_fields
from gpgpu_legacy.studies.host_anomaly.cases import Case
from gpgpu_legacy.studies.host_anomaly.outliers import (
    Row,
    find_outliers,
    find_ways,
    make_rows,
    published_times,
)
from gpgpu_legacy.studies.host_anomaly.penalties import (
    FIT_SIZES,
    Penalties,
    anchors,
    fit,
    support,
)
from gpgpu_legacy.studies.host_anomaly.result import Anomaly, Model, Outlier
from gpgpu_legacy.studies.host_anomaly.simulation import (
    ROWS,
    WORD_BYTES,
    HostMisses,
    check_rows,
    simulate_host,
)

UNPUBLISHED_SIZES = (768, 1280, 2048)
"""Further sizes, for which no times are published."""


def sizes_for(wanted: Sequence[int] = ()) -> list[int]:
    """The sizes to simulate: those wanted, those of the fit, and those beside an outlier.

    wanted: by default all with published times, and UNPUBLISHED_SIZES.
    """
    published = published_times()
    outliers = find_outliers(published)
    sizes = {*(wanted or (*published, *UNPUBLISHED_SIZES)), *FIT_SIZES}
    return sorted(sizes.union(*(outliers.get(size, ()) for size in sizes)))


def anomaly(
    cases: Sequence[Case],
    sizes: Sequence[int],
    rows: int = ROWS,
    published_ms: Mapping[int, float] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Anomaly:
    """Misses, predicted and published times at some sizes, for each case.

    published_ms: of MulH, by size; the paper's by default. Outliers are also simulated without page
    walks. progress: called with each size that is done. Sizes are simulated in parallel on all
    cores, the slowest first.
    """
    published = published_times() if published_ms is None else published_ms
    wanted = sorted({*sizes}, reverse=True)
    for size in wanted:
        check_rows(size, rows)
    outliers = find_outliers(published)
    beside = {n: outliers[n] for n in wanted if n in outliers and {*outliers[n]} <= {*wanted}}
    walking = [(case.hierarchy, case.pages) for case in cases]
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
    models = []
    for i, case in enumerate(cases):
        own = make_rows([found[i] for found in simulated.values()], published, case.hierarchy.l2)
        without = {n: simulated[n][len(cases) + i].misses for n in beside}
        models.append(_model(case, own, beside, without))
    return Anomaly(models=tuple(models))


def _model(
    case: Case,
    rows: Sequence[Row],
    beside: Mapping[int, tuple[int, ...]],
    without_walks: Mapping[int, float],
) -> Model:
    """without_walks: the misses of the outliers."""
    known = [row for row in rows if row.published_ns is not None]
    fitted = [row for row in known if row.size in FIT_SIZES]
    penalties = fit(fitted) if fitted else None
    reach, page = case.host.prefetch_stride_bytes.value, case.hierarchy.page_bytes
    return Model(
        case=case,
        rows=tuple(_predicted(row, penalties) for row in rows),
        hits=sum(row.is_outlier and row.is_published_outlier for row in known),
        missed=sum(not row.is_outlier and row.is_published_outlier for row in known),
        false_alarms=sum(row.is_outlier and not row.is_published_outlier for row in known),
        ways=find_ways(rows),
        outliers=tuple(_outliers(case, rows, beside, without_walks, penalties)),
        penalties=penalties,
        support=None if penalties is None else support(penalties, rows),
        anchors=anchors(rows, reach, page),
    )


def _predicted(row: Row, penalties: Penalties | None) -> Row:
    if penalties is None or (penalties.miss_ns is None and row.is_outlier):
        return row
    ns = penalties.iteration_ns(row)
    fitted = row.size in penalties.sizes
    return with_fields(row, predicted_ms=ns * row.size**3 / 1e6, predicted_ns=ns, is_fitted=fitted)


def _outliers(
    case: Case,
    rows: Sequence[Row],
    beside: Mapping[int, tuple[int, ...]],
    without_walks: Mapping[int, float],
    penalties: Penalties | None,
) -> Iterator[Outlier]:
    at = {row.size: row for row in rows}
    near = {n: [at[size] for size in sizes] for n, sizes in beside.items()}
    times = {n: mean(row.published_ns or 0.0 for row in rows) for n, rows in near.items()}
    misses = {n: mean(row.misses for row in rows) for n, rows in near.items()}
    extra_ns = {n: (at[n].published_ns or 0.0) - time for n, time in times.items()}
    extra = {n: at[n].misses - misses[n] for n in near}
    worst = max(near, key=extra_ns.__getitem__, default=0)
    penalty = None if penalties is None else penalties.miss_ns
    memory_bytes = case.hierarchy.memory_bytes
    for n in sorted(near):
        dtlb_beside = mean(row.dtlb_misses for row in near[n])
        more = at[n].dtlb_misses - dtlb_beside
        matrices_bytes = 3 * WORD_BYTES * n**2
        yield Outlier(
            size=n,
            beside=beside[n],
            published_ns_beside=times[n],
            extra_ns=extra_ns[n],
            extra_relative=extra_ns[n] / extra_ns[worst],
            misses_beside=misses[n],
            misses_without_walks=without_walks[n],
            extra_misses_relative=extra[n] / extra[worst] if extra[worst] > 0.0 else None,
            predicted_extra_ns=None if penalty is None else penalty * extra[n],
            needed_misses=misses[n] + extra_ns[n] / penalty if penalty else None,
            dtlb_misses_beside=dtlb_beside,
            dtlb_miss_would_cost_ns=extra_ns[n] / more if more > 0.0 else None,
            matrices_bytes=matrices_bytes,
            of_memory=matrices_bytes / memory_bytes,
        )
