"""The anomaly's outliers, time model, and what the fit rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from gpgpu_legacy.chips.hosts import find_host
from gpgpu_legacy.papers.host_misses import (
    HostMisses,
    HostRow,
    find_ways,
    make_rows,
    published_times,
)
from gpgpu_legacy.studies.anomaly import fit, support

CACHE = find_host("core2-3mb").hierarchy.l2

# The time model -----------------------------------------------------------------------------------


def found_at(size: int, misses: float, dtlb: float = 1.0) -> HostMisses:
    """As many as that, an iteration; a quarter of the misses are a page walk's."""
    return HostMisses(
        size=size, misses=misses, walk_misses=misses / 4, l1_misses=2.0,
        dtlb_misses=dtlb,
    )  # fmt: skip


def rows_of(found: Sequence[HostMisses], times: Mapping[int, float]) -> list[HostRow]:
    return make_rows(found, times, CACHE)


def milliseconds(size: int, ns: float) -> float:
    return ns * size**3 / 1e6


def test_penalties_are_those_that_the_times_are_made_of() -> None:
    """3 ns, 2 ns a DTLB miss and 20 ns a miss."""
    found = [found_at(500, 0.0, 0.0), found_at(1000, 0.0), found_at(1024, 1.0)]
    found.append(found_at(1040, 0.25, 0.5))
    times = {500: milliseconds(500, 3), 1000: milliseconds(1000, 5), 1024: milliseconds(1024, 25)}
    times[1040] = milliseconds(1040, 9)
    penalties = fit(rows_of(found, times))
    assert penalties.base_ns == pytest.approx(3.0)
    assert penalties.dtlb_ns == pytest.approx(2.0)
    assert penalties.miss_ns == pytest.approx(20.0)
    assert penalties.sizes == (500, 1000, 1024, 1040)
    assert penalties.iteration_ns(found_at(2000, 0.5)) == pytest.approx(15.0)


# What the fit rests on ----------------------------------------------------------------------------

FITTED = [
    found_at(480, 0.0, 0.0),
    *(found_at(n, 0.0625, dtlb) for n, dtlb in ((992, 0.97), (1008, 0.99), (1040, 1.0))),
    found_at(1024, 1.0),
]
TIMES = {
    n: milliseconds(n, ns)
    for n, ns in ((480, 2.6), (992, 5.6), (1008, 5.7), (1040, 5.9), (1024, 26.0))
}


ROWS = rows_of(FITTED, TIMES)


def test_sizes_with_the_same_misses_are_one_point_and_three_leave_no_freedom() -> None:
    rests_on = support(fit(ROWS), ROWS)
    assert rests_on.points == ((480,), (992, 1008, 1040), (1024,))
    assert rests_on.degrees_of_freedom == 0
    # One more size, with misses of its own, is a degree of freedom.
    more = [*FITTED, found_at(800, 0.5, 0.5)]
    rows = rows_of(more, {**TIMES, 800: milliseconds(800, 10.0)})
    assert support(fit(rows), rows).degrees_of_freedom == 1


# Outliers without a fit ---------------------------------------------------------------------------


def test_outliers_are_counted_against_the_published_ones() -> None:
    ns = {900: 6.0, 940: 6.0, 1000: 6.0, 1024: 18.0, 1040: 6.2, 1060: 6.0}
    misses = {900: 0.0625, 940: 0.5, 1000: 0.0625, 1024: 1.0, 1040: 0.1249, 1060: 0.0625}
    found = make_rows(
        [found_at(n, each) for n, each in {**misses, 5000: 1.0}.items()],
        {n: milliseconds(n, each) for n, each in ns.items()},
        CACHE,
    )
    outcomes = {row.size: (row.is_outlier, row.is_published_outlier) for row in found}
    neither, false_alarm, hit = (False, False), (True, False), (True, True)
    assert outcomes == {
        900: neither, 940: false_alarm, 1000: neither, 1024: hit, 1040: neither, 1060: neither,
        5000: false_alarm,
    }  # fmt: skip
    assert [row.size for row in found if row.published_ns is None] == [5000]


def test_the_published_outliers_are_those_that_5_to_12_ways_have() -> None:
    """By the lines of a column in a set: 16 at 1024, 12 at 1536, and 4 at most elsewhere."""
    published = published_times()
    found = rows_of([found_at(n, 0.0) for n in published], published)
    lines = {row.size: row.lines_a_set for row in found}
    by_hand = {
        n: max(Counter(row * n * 4 // 64 % 4096 for row in range(n)).values()) for n in published
    }
    assert lines == by_hand
    assert (lines[1024], lines[1536], max(lines[n] for n in lines if n < 992)) == (16, 12, 4)
    assert find_ways(found) == (5, 12)
    # Were 1040 an outlier, too, no number of ways would do.
    slow = {**published, 1040: 3 * published[1040]}
    assert find_ways(rows_of([found_at(n, 0.0) for n in slow], slow)) is None
