"""Rounds: jobs run in turn, so that a machine that slows down affects all alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from time import process_time, sleep
from typing import TypeVar

from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.runtime.prepared import Timings
from gpgpu_legacy.serial import fields_of

T = TypeVar("T")

MOST_ROUNDS = 10_000
"""The most rounds of a measurement: medians of more are no better, and each costs time even after
the budget is spent.
"""

MOST_RUNS = 1_000_000
"""The most runs of one plan for a median of its times, all of which are kept."""


@dataclass(frozen=True)
class Rounds:
    """The rules for the number of measurements.

    count: the number of rounds. round_s, most_runs: a job that takes less than `round_s` seconds is
    run several times in a round, up to `most_runs` times; a single short run would measure how fast
    threads and clocks wake up. longest_s: a job that takes this many seconds or more has no rounds;
    its first run is its result.
    """

    count: int = 5
    round_s: float = 0.05
    most_runs: int = 10
    longest_s: float = inf

    def __post_init__(self) -> None:
        """Raises InputError for fewer rounds than one, and for more than MOST_ROUNDS."""
        if not 1 <= self.count <= MOST_ROUNDS:
            raise InputError(f"--repeat is {self.count}; it must be from 1 to {MOST_ROUNDS}")

    def runs(self, seconds: float) -> int:
        """The number of runs in a round for a job of that many seconds."""
        return max(1, min(self.most_runs, int(self.round_s / max(seconds, 1e-9))))


DEFAULT_ROUNDS = Rounds()

_LOOK_S, _MOST_LOOKS = 0.005, 40


def wait_for_rest() -> None:
    """Wait until the threads of this process rest, or for 40 looks of 5 ms.

    Those of a BLAS look for more work for 30 to 130 ms after a product, on processors that the
    next contender needs: native code takes up to six times as long meanwhile.
    """
    for _ in range(_MOST_LOOKS):
        before = process_time()
        sleep(_LOOK_S)
        if process_time() - before < _LOOK_S / 2:
            return


WARM_S = 0.02


def warm_up(sample: Callable[[], float]) -> None:
    """Run something for 20 ms, or ten times: processors that rested are slow at first.

    On a server's two cores a product of 512×512 takes 1.5 times as long after a pause of 50 ms.
    """
    taken_s = 0.0
    for _ in range(DEFAULT_ROUNDS.most_runs):
        taken_s += sample()
        if taken_s >= WARM_S:
            return


def take_rounds(
    contenders: Sequence[T],
    take: Callable[[T], object],
    count: int,
    after_round: Callable[[int], Sequence[T]],
) -> None:
    """Let contenders run in turn, `count` times.

    take: runs one contender's part of a round. after_round: called at the end of each round with
    its number, from 0; gives the contenders of the next round.
    """
    for number in range(count):
        for contender in contenders:
            take(contender)
        contenders = after_round(number)


def as_repeat(repeat: object) -> int:
    """The number of runs for the medians of a plan's times; InputError if it is not a number."""
    number = as_positive("repeat", repeat)
    if number > MOST_RUNS:
        raise InputError(f"repeat is {number}; it must be at most {MOST_RUNS}")
    return number


def median_timings(timings: Sequence[Timings]) -> Timings:
    """The median of each part of several runs' times."""
    parts = zip(*(fields_of(one).values() for one in timings), strict=True)
    return Timings(*map(median, parts))
