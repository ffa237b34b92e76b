"""Why Dobravec & Bulić's host is slow at n = 1024 and 1536: MulH's accesses on the host's caches.

The loop of the paper's Listing 1 is followed access by access through the simulated processor. Its
misses show the sizes with outliers, without using any time (simulation.py), on condition that
level 2 has 3 MB, which was chosen by these outliers. Then they are turned
into times, and compared with the published ones. An iteration takes a base time, and a penalty for
each miss:

    t = n³ · (base_ns + dtlb_ns · DTLB misses + miss_ns · misses, per iteration)

The penalties, none below 0, are fitted by least squares to the published times at FIT_SIZES and to
no others; all other sizes are predictions. If the misses are the same at all of these sizes, no
miss penalty can be fitted; outliers are then left out of the fit. The base time includes everything
else: the arithmetic, and a line from level 2.

Sizes with the same misses are one point for such a fit, however many they are. With as many points
as penalties the fit is saturated: it passes through the points, whatever their times, and shows
nothing about the model. `Support` says what a fit rests on.

The DTLB penalty rests on one size, the anchor, at which the DTLB holds a column of B. Steps down
its columns are also short enough for a stride prefetcher of the time, while those at the other
sizes of the fit are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from statistics import mean

import numpy as np

from gpgpu_legacy.serial import with_fields
from gpgpu_legacy.studies.host_anomaly.result import (
    ANCHOR,
    Anomaly,
    Model,
    Outlier,
    Penalties,
    Support,
)
from gpgpu_legacy.studies.host_anomaly.simulation import (
    HostCase,
    HostRow,
    check_size,
    find_outliers,
    find_ways,
    make_rows,
    published_times,
    simulate_host,
)

FIT_SIZES = (ANCHOR, 992, 1008, 1024, 1040, 1056)
"""n = 1024, the largest outlier, its neighbours, and the anchor."""

_SAME_MISSES = 0.05  # per iteration: sizes that differ by less are one point


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
    cases: Sequence[HostCase],
    sizes: Sequence[int],
    published_ms: Mapping[int, float] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Anomaly:
    """Misses, predicted and published times at some sizes, for each case.

    published_ms: of MulH, by size; the paper's by default. progress: called with each size that is
    done. Sizes are simulated in parallel on all cores, the slowest first.
    """
    published = published_times() if published_ms is None else published_ms
    wanted = sorted({*sizes}, reverse=True)
    for size in wanted:
        check_size(size)
    hosts = [(case.hierarchy, case.pages) for case in cases]
    simulated = []
    with ThreadPoolExecutor() as pool:
        for misses in pool.map(partial(simulate_host, cases=hosts), wanted):
            simulated.append(misses)
            progress(f"n = {misses[0].size}")
    return Anomaly(
        models=tuple(
            _model(case, make_rows(misses, published, case.hierarchy.l2), find_outliers(published))
            for case, misses in zip(cases, zip(*simulated, strict=True), strict=True)
        )
    )


def _model(
    case: HostCase, rows: Sequence[HostRow], outliers: Mapping[int, tuple[int, ...]]
) -> Model:
    """outliers: of the published times, each with the sizes beside it."""
    known = [row for row in rows if row.published_ns is not None]
    fitted = [row for row in known if row.size in FIT_SIZES]
    penalties = fit(fitted) if fitted else None
    return Model(
        case=case,
        rows=tuple(_predicted(row, penalties) for row in rows),
        hits=sum(row.is_outlier and row.is_published_outlier for row in known),
        missed=sum(not row.is_outlier and row.is_published_outlier for row in known),
        false_alarms=sum(row.is_outlier and not row.is_published_outlier for row in known),
        ways=find_ways(rows),
        outliers=tuple(_outliers(rows, outliers, penalties.miss_ns if penalties else None)),
        penalties=penalties,
        support=support(penalties, rows) if penalties else None,
    )


def _predicted(row: HostRow, penalties: Penalties | None) -> HostRow:
    if penalties is None or (penalties.miss_ns is None and row.is_outlier):
        return row
    return with_fields(
        row, predicted_ns=penalties.iteration_ns(row), is_fitted=row.size in penalties.sizes
    )


def _outliers(
    rows: Sequence[HostRow], outliers: Mapping[int, tuple[int, ...]], miss_ns: float | None
) -> Iterator[Outlier]:
    """The simulated sizes that have all their neighbours."""
    at = {row.size: row for row in rows}
    near = {n: beside for n, beside in sorted(outliers.items()) if {n, *beside} <= at.keys()}
    misses = {n: mean(at[size].misses for size in near[n]) for n in near}
    extra = {n: at[n].misses - misses[n] for n in near}
    extra_ns = {
        n: (at[n].published_ns or 0.0) - mean(at[size].published_ns or 0.0 for size in near[n])
        for n in near
    }
    worst = max(near, key=extra_ns.__getitem__, default=0)
    for n, beside in near.items():
        yield Outlier(
            size=n,
            beside=beside,
            extra_ns=extra_ns[n],
            extra_relative=extra_ns[n] / extra_ns[worst],
            misses_beside=misses[n],
            extra_misses_relative=extra[n] / extra[worst] if extra[worst] > 0.0 else None,
            predicted_extra_ns=None if miss_ns is None else miss_ns * extra[n],
            needed_misses=misses[n] + extra_ns[n] / miss_ns if miss_ns else None,
        )


# The fit ------------------------------------------------------------------------------------------


def fit(rows: Sequence[HostRow]) -> Penalties:
    """The penalties, by least squares on the published times of these sizes.

    None is below 0: it is the best such fit to some of the columns.
    """
    has_misses = _differ([row.misses for row in rows])
    if not has_misses:
        rows = [row for row in rows if not row.is_published_outlier]
    has_walks = _differ([row.dtlb_misses for row in rows])
    columns = np.array(
        [[1.0, has_walks * row.dtlb_misses, has_misses * row.misses] for row in rows]
    )
    times = np.array([row.published_ns for row in rows])
    fits = (
        np.linalg.lstsq(columns * used, times, rcond=None)[0] * used
        for used in product((0.0, 1.0), repeat=3)
    )
    base, walk, miss = min(
        (one.tolist() for one in fits if (one >= 0).all()),
        key=lambda one: float(np.linalg.norm(columns @ one - times)),
    )
    return Penalties(
        base_ns=base,
        dtlb_ns=walk if has_walks else None,
        miss_ns=miss if has_misses else None,
        sizes=tuple(row.size for row in rows),
    )


def _differ(numbers: Sequence[float]) -> bool:
    return max(numbers) - min(numbers) >= _SAME_MISSES


def support(penalties: Penalties, rows: Sequence[HostRow]) -> Support:
    """The support of the penalties. rows: at least their sizes."""
    points: list[list[HostRow]] = []
    for row in rows:
        if row.size in penalties.sizes:
            for point in points:
                alike = row, point[0]
                if not (
                    _differ([one.misses for one in alike])
                    or _differ([one.dtlb_misses for one in alike])
                ):
                    point.append(row)
                    break
            else:
                points.append([row])
    fits = (fit(chosen) for chosen in product(*points))
    known = [one.miss_ns for one in fits if one.miss_ns is not None]
    return Support(
        points=tuple(tuple(row.size for row in point) for point in points),
        degrees_of_freedom=len(points)
        - sum(one is not None for one in (penalties.base_ns, penalties.dtlb_ns, penalties.miss_ns)),
        miss_range_ns=(min(known), max(known)) if known else None,
    )
