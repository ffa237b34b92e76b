"""Outliers simulated and outliers published, size by size: nothing is fitted to any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np

from gpgpu_legacy.cache.caches import Cache
from gpgpu_legacy.serial import Record
from gpgpu_legacy.studies.host_anomaly.outliers import find_outliers, times_beside
from gpgpu_legacy.studies.host_anomaly.simulation import WORD_BYTES, HostMisses


class Outcome(Enum):
    """A simulated outlier against a published one."""

    HIT = "hit"
    MISS = "miss"
    FALSE_ALARM = "false alarm"
    NEITHER = "neither"


_OUTCOMES = {
    (True, True): Outcome.HIT,
    (False, True): Outcome.MISS,
    (True, False): Outcome.FALSE_ALARM,
    (False, False): Outcome.NEITHER,
}
"""By whether there is a simulated one, and a published one."""


class Call(
    Record,
    rename={
        "size": "n",
        "misses": "misses_per_iteration",
        "beside": "times_beside",
        "is_simulated": "simulated_outlier",
        "is_published": "published_outlier",
    },
):
    """A size with a published time: an outlier by simulated misses, by the published time.

    lines_a_set: of a column of B, at most. misses: simulated, per iteration. published_ns: per
    iteration; beside: that over the times beside it, None where there are none.
    """

    size: int
    lines_a_set: int
    misses: float
    published_ns: float
    beside: float | None
    is_simulated: bool
    is_published: bool
    outcome: Outcome


class Evidence(Record, rename={"calls": "sizes"}):
    """All sizes with published times that were simulated, in order: nothing is fitted.

    ways: the fewest and the most that a column fills exactly at the published outliers, where
    pages are perfectly coloured; the sets and lines are level 2's. None where no number does.
    """

    calls: tuple[Call, ...]
    hits: int
    misses: int
    false_alarms: int
    ways: tuple[int, int] | None


def evidence(
    simulated: Mapping[int, HostMisses], published_ms: Mapping[int, float], cache: Cache
) -> Evidence:
    """The outliers simulated beside those published, at all sizes that are both.

    cache: level 2. Published outliers are found among all published times, whether these sizes are
    simulated or not.
    """
    outliers, beside = find_outliers(published_ms), times_beside(published_ms)
    calls = []
    for n in sorted({*simulated} & {*published_ms}):
        found = is_outlier(simulated[n], cache.line_bytes), n in outliers
        calls.append(
            Call(
                size=n,
                lines_a_set=lines_per_set(n, cache),
                misses=simulated[n].misses,
                published_ns=published_ms[n] * 1e6 / n**3,
                beside=beside.get(n),
                is_simulated=found[0],
                is_published=found[1],
                outcome=_OUTCOMES[found],
            )
        )
    counts = Counter(call.outcome for call in calls)
    return Evidence(
        calls=tuple(calls),
        hits=counts[Outcome.HIT],
        misses=counts[Outcome.MISS],
        false_alarms=counts[Outcome.FALSE_ALARM],
        ways=_ways(calls),
    )


def is_outlier(simulated: HostMisses, line_bytes: int) -> bool:
    """Whether there are more than twice the misses needed to read each line of B once.

    That is once for as many columns of C as a line has elements.
    """
    return simulated.misses > 2 * needed_misses(line_bytes)


def needed_misses(line_bytes: int) -> float:
    """The misses per iteration if each line of B is read once for all columns in it."""
    return WORD_BYTES / line_bytes


def lines_per_set(size: int, cache: Cache) -> int:
    """The most lines of a column of B in one set, where pages are perfectly coloured."""
    lines = np.arange(size, dtype=np.int64) * size * WORD_BYTES // cache.line_bytes
    return int(np.bincount(lines % cache.sets).max())


def _ways(calls: Sequence[Call]) -> tuple[int, int] | None:
    most = min((call.lines_a_set for call in calls if call.is_published), default=0)
    fewest = 1 + max((call.lines_a_set for call in calls if not call.is_published), default=0)
    return (fewest, most) if fewest <= most else None
