"""Outliers simulated and outliers published, size by size: nothing is fitted to any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from gpgpu_legacy.cache.caches import Cache
from gpgpu_legacy.studies.host_anomaly.outliers import find_outliers, times_beside
from gpgpu_legacy.studies.host_anomaly.simulation import WORD_BYTES, HostMisses


class Outcome(Enum):
    """A simulated outlier against a published one."""

    HIT = "hit"
    MISS = "miss"
    FALSE_ALARM = "false alarm"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Call:
    """A size with a published time.

    misses: simulated, per iteration. published_ns: per iteration; beside: that over the times
    beside it, None where there are none.
    """

    size: int
    misses: float
    published_ns: float
    beside: float | None
    is_simulated: bool
    is_published: bool

    @property
    def outcome(self) -> Outcome:
        if self.is_simulated:
            return Outcome.HIT if self.is_published else Outcome.FALSE_ALARM
        return Outcome.MISS if self.is_published else Outcome.NEITHER


@dataclass(frozen=True, slots=True)
class Evidence:
    """All sizes with published times that were simulated, in order."""

    calls: tuple[Call, ...]

    def count(self, outcome: Outcome) -> int:
        """How many sizes have this outcome."""
        return Counter(call.outcome for call in self.calls)[outcome]

    @property
    def is_right(self) -> bool:
        """Whether the outliers are exactly the published ones."""
        return all(call.is_simulated == call.is_published for call in self.calls)


def evidence(
    simulated: Mapping[int, HostMisses], published_ms: Mapping[int, float], line_bytes: int
) -> Evidence:
    """The outliers simulated beside those published, at all sizes that are both.

    Published outliers are found among all published times, whether these sizes are simulated or
    not.
    """
    outliers, beside = find_outliers(published_ms), times_beside(published_ms)
    return Evidence(
        tuple(
            Call(
                n,
                simulated[n].misses,
                published_ms[n] * 1e6 / n**3,
                beside.get(n),
                is_outlier(simulated[n], line_bytes),
                n in outliers,
            )
            for n in sorted(simulated)
            if n in published_ms
        )
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


def ways_between(found: Evidence, cache: Cache) -> tuple[int, int] | None:
    """The fewest and the most ways with which a column fills sets exactly at published outliers.

    The sets and lines are the cache's, and pages are perfectly coloured. None where no number of
    ways does.
    """
    filled = {call: lines_per_set(call.size, cache) for call in found.calls}
    most = min((lines for call, lines in filled.items() if call.is_published), default=0)
    fewest = 1 + max((lines for call, lines in filled.items() if not call.is_published), default=0)
    return (fewest, most) if fewest <= most else None
