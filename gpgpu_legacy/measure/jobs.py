"""What the engine of all measuring takes and gives: jobs, their outcomes, and who listens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import Any

from gpgpu_legacy.measure.rounds import Rounds


@dataclass(frozen=True)
class Ready:
    """A job that is open.

    run: runs it once and gives the seconds of computing, without transfers. check: what the
    outcome keeps of the last run's result, such as its error. settle: called before the runs of a
    round; waits until what earlier jobs have started is over.
    """

    run: Callable[[], float]
    check: Callable[[], Any]
    settle: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Job:
    """What to run at a size.

    series: what is run, apart from its size; hashable. label: names the series to people. open:
    prepares runs of any size, since smaller ones are probed. expected_s: a guess at the seconds of
    a run, such as a paper's time; it decides which job is tried first until the engine knows more.
    least: the smallest size that can be opened; `size`, where there is no smaller one to probe.
    case: what is run at this size, in words, if not a product of n×n matrices.
    """

    series: Any
    size: int
    label: str
    open: Callable[[int], AbstractContextManager[Ready]]
    expected_s: float | None = None
    least: int = 1
    case: str | None = None

    def __str__(self) -> str:
        """The job as progress names it."""
        return f"{self.case or f'n = {self.size}'}: {self.label}"


@dataclass(frozen=True)
class Outcome:
    """A job's result.

    samples: seconds of the measured runs, in order. checked: what the job's check gave after its
    first run. is_first_run: no round took place, so the only sample is of a run that would
    otherwise not be measured.
    """

    job: Job
    samples: tuple[float, ...]
    checked: Any
    is_first_run: bool = False

    @property
    def seconds(self) -> float:
        """The median of the samples."""
        return median(self.samples)

    @property
    def spread(self) -> tuple[float, float]:
        """The fastest and the slowest sample, in seconds."""
        return min(self.samples), max(self.samples)


@dataclass(frozen=True)
class NotRun:
    """A job without a result, and why. is_refused: a driver or a library raised an error."""

    job: Job
    reason: str
    is_refused: bool = False


@dataclass(frozen=True)
class Measured:
    """The results of a measurement, or those so far.

    spent_s: seconds of the budget. busy_share: the part of the processors' time that other
    processes took, from 0 to 1; None for a measurement too short to tell.
    """

    outcomes: tuple[Outcome, ...]
    not_run: tuple[NotRun, ...]
    spent_s: float
    busy_share: float | None


class Order(Enum):
    """Which jobs are measured first, and which together.

    SIZE: all jobs of one size together, the smallest size first. COST: each job by itself, always
    the cheapest of those that are left.
    """

    SIZE = "size"
    COST = "cost"


@dataclass(frozen=True)
class Listener:
    """Who is told while a measurement runs.

    progress: called with a description, `count_steps` times in all. results: called with all
    results so far whenever there are new ones, and when the measurement is interrupted.
    """

    progress: Callable[[str], object] = lambda _: None
    results: Callable[[Measured], object] = lambda _: None


def count_steps(jobs: Sequence[Job], rounds: Rounds) -> int:
    """How often `measure` reports progress."""
    return len(jobs) * (1 + rounds.count)
