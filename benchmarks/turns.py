"""Run the calls that a benchmark compares in turn, and print its result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter

from gpgpu_legacy.measure.timing import busy_warning
from gpgpu_legacy.serial import Recorded, json_text

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


def print_result(result: Recorded, busy_share: float | None) -> None:
    """Print a benchmark's JSON, and a warning if other processes have disturbed it."""
    print(json_text(result), end="")
    warning = busy_warning(busy_share)
    if warning is not None:
        print(warning, file=sys.stderr)
