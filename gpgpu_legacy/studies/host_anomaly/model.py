"""Why Dobravec & Bulić's host is slow at n = 1024 and 1536: MulH's accesses on the host's caches.

The loop of the paper's Listing 1 is followed access by access through the simulated processor. Its
misses say at which sizes there are outliers, without any time (simulation.py). Then they are turned
into times, and compared with the published ones. An iteration takes a base time, and a penalty for
each miss:

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.runtime.workers import for_each
from gpgpu_legacy.serial import with_fields
from gpgpu_legacy.studies.host_anomaly.result import (
    ANCHOR,
    Anomaly,
    FittedSize,
    Model,
    OtherAnchor,
    Outlier,
    Penalties,
    Support,
)
from gpgpu_legacy.studies.host_anomaly.simulation import (
    ROWS,
    WORD_BYTES,
    HostCase,
    HostMisses,
    HostRow,
    check_rows,
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
    rows: int = ROWS,
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
        check_rows(size, rows)
    simulated = []

    def done(size: int, misses: list[HostMisses]) -> None:
        simulated.append(misses)
        progress(f"n = {size}")

    hosts = [(case.hierarchy, case.pages) for case in cases]
    for_each(partial(simulate_host, cases=hosts, rows=rows), wanted, done)
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
    reach, page = case.host.prefetch_stride_bytes.value, case.hierarchy.page_bytes
    return Model(
        case=case,
        rows=tuple(_predicted(row, penalties) for row in rows),
        hits=sum(row.is_outlier and row.is_published_outlier for row in known),
        missed=sum(not row.is_outlier and row.is_published_outlier for row in known),
        false_alarms=sum(row.is_outlier and not row.is_published_outlier for row in known),
        ways=find_ways(rows),
        outliers=tuple(
            _outliers(case, rows, outliers, None if penalties is None else penalties.miss_ns)
        ),
        penalties=penalties,
        support=None if penalties is None else support(penalties, rows),
        anchors=anchors(rows, reach, page),
    )


def _predicted(row: HostRow, penalties: Penalties | None) -> HostRow:
    if penalties is None or (penalties.miss_ns is None and row.is_outlier):
        return row
    return with_fields(
        row, predicted_ns=penalties.iteration_ns(row), is_fitted=row.size in penalties.sizes
    )


def _outliers(
    case: HostCase,
    rows: Sequence[HostRow],
    outliers: Mapping[int, tuple[int, ...]],
    miss_ns: float | None,
) -> Iterator[Outlier]:
    """Those simulated with all sizes beside them."""
    at = {row.size: row for row in rows}
    near = {n: beside for n, beside in sorted(outliers.items()) if {n, *beside} <= at.keys()}

    def means(name: str) -> dict[int, float]:
        return {n: mean(getattr(at[size], name) for size in near[n]) for n in near}

    times, misses, walks = map(means, ("published_ns", "misses", "dtlb_misses"))
    extra_ns = {n: (at[n].published_ns or 0.0) - times[n] for n in near}
    extra = {n: at[n].misses - misses[n] for n in near}
    worst = max(near, key=extra_ns.__getitem__, default=0)
    for n, beside in near.items():
        more = at[n].dtlb_misses - walks[n]
        yield Outlier(
            size=n,
            beside=beside,
            published_ns_beside=times[n],
            extra_ns=extra_ns[n],
            extra_relative=extra_ns[n] / extra_ns[worst],
            misses_beside=misses[n],
            extra_misses_relative=extra[n] / extra[worst] if extra[worst] > 0.0 else None,
            predicted_extra_ns=None if miss_ns is None else miss_ns * extra[n],
            needed_misses=misses[n] + extra_ns[n] / miss_ns if miss_ns else None,
            dtlb_misses_beside=walks[n],
            dtlb_miss_would_cost_ns=extra_ns[n] / more if more > 0.0 else None,
            of_memory=3 * WORD_BYTES * n**2 / case.hierarchy.memory_bytes,
        )


# The fit ------------------------------------------------------------------------------------------


def fit(rows: Sequence[HostRow]) -> Penalties:
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


def _columns(rows: Sequence[HostRow], *, has_walks: bool, has_misses: bool) -> NDArray[np.float64]:
    """The design matrix, float64 [sizes, 3]; a column of zeros for a penalty that is not fitted."""
    return np.array([[1.0, has_walks * row.dtlb_misses, has_misses * row.misses] for row in rows])


def _differ(numbers: Sequence[float]) -> bool:
    return max(numbers) - min(numbers) >= _SAME_MISSES


# What a fit rests on -----------------------------------------------------------------------------


def support(penalties: Penalties, rows: Sequence[HostRow]) -> Support:
    """What the penalties rest on. rows: at least their sizes."""
    fitted = [row for row in rows if row.size in penalties.sizes]
    points = _points(fitted)
    fits = (fit(chosen) for chosen in product(*points))
    known = [one.miss_ns for one in fits if one.miss_ns is not None]
    return Support(
        points=tuple(tuple(row.size for row in point) for point in points),
        parameters=penalties.parameters,
        degrees_of_freedom=len(points) - penalties.parameters,
        sizes=tuple(_fitted_sizes(penalties, fitted)),
        miss_range_ns=(min(known), max(known)) if known else None,
    )


def _fitted_sizes(penalties: Penalties, fitted: Sequence[HostRow]) -> Iterator[FittedSize]:
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


def _points(rows: Sequence[HostRow]) -> list[list[HostRow]]:
    """The sizes in groups of those with the same misses."""
    groups: list[list[HostRow]] = []
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


def anchors(rows: Sequence[HostRow], reach_bytes: int, page_bytes: int) -> tuple[OtherAnchor, ...]:
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
            OtherAnchor(
                size=n,
                prefetchable=prefetchable(n, reach_bytes, page_bytes),
                penalties=fit([row, *rest]),
            )
            for n, row in known.items()
            if n < smallest and not row.is_published_outlier
        ),
        OtherAnchor(size=None, prefetchable=0.0, penalties=fit(rest)),
    )


def prefetchable(size: int, reach_bytes: int, page_bytes: int) -> float:
    """The fraction of the steps down B's columns that are no longer than this, and within a page.

    B begins with a page.
    """
    if size * WORD_BYTES > reach_bytes:
        return 0.0
    pages = np.arange(size * size).reshape(size, size) * WORD_BYTES // page_bytes
    return float(np.mean(pages[1:] == pages[:-1]))
