"""Calls that are compared, run in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter

Sample = Callable[[], float]
"""Runs something once and gives its seconds."""


def timed(call: Callable[[], object], clock: Callable[[], float] = perf_counter) -> Sample:
    """The call, with its duration in seconds as its result."""

    def sample() -> float:
        started = clock()
        call()
        return clock() - started

    return sample


def medians_in_turn(samples: Mapping[str, Sample], count: int) -> dict[str, float]:
    """The median seconds of calls, by name. They run in turn, `count` times.

    Each is called once before, without being measured.
    """
    taken: dict[str, list[float]] = {name: [] for name in samples}
    for _ in range(count + 1):
        for name, sample in samples.items():
            taken[name].append(sample())
    return {name: median(seconds[1:]) for name, seconds in taken.items()}
