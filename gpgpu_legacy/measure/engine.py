"""The engine of all measuring: given jobs and a budget, it returns their times.

Jobs of one size are measured together. The engine opens each of them and runs it once, the cheapest
first, as far as costs are known. Rounds follow (measure/timing.py): in each round every job runs in
turn. A job's time is the median of its runs in the rounds. If memory cannot hold all jobs of a size
at once, each has its rounds by itself.

A run does not start if it is expected to outlast the budget. The expectation follows from a smaller
size: computing grows with the cube of the size, transfers and checks with its square, preparing
with the size itself. Without a smaller size, the job says what it expects. A job whose rounds do
not fit has its first run as its result. If nothing fits, the cheapest job is run once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from statistics import median
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.measure.timing import DEFAULT_ROUNDS, Budget, OtherWork, Rounds
from gpgpu_legacy.plan.memory import free_memory
from gpgpu_legacy.plan.plan import Plan

LEAST_BYTES, MOST_BYTES = 2 << 30, 8 << 30  # of prepared plans; the most also fits a GPU's memory
_SHARE = 8  # open jobs take at most one part in so many of the free memory
_SHORT = 5  # a run is short if so many fit into the rest of the budget


# What it takes and gives -------------------------------------------------------------------------


@frozen
class Ready:
    """A job that is open.

    run: runs it once and gives the seconds of computing, without transfers. check: called after the
    first run; gives what the outcome keeps of its result, such as the error. settle: called before
    the runs of a round; waits until the work that earlier jobs started is over.
    """

    run: Callable[[], float]
    check: Callable[[], Any]
    settle: Callable[[], object] = lambda: None


@frozen
class MeasuredJob:
    """Work to run at a size.

    series: identifies the work apart from its size; hashable. label: names the series to people.
    open: prepares runs. expected_s: estimates the seconds to open it and to run it once. case: the
    work at this size, in words, if not a product of n×n matrices. size_bytes: about the memory that
    it takes while it is open. by: who runs it; the estimates of one runner are corrected alike.
    """

    series: Any
    size: int
    label: str
    open: Callable[[], AbstractContextManager[Ready]]
    expected_s: Callable[[], float] = lambda: 0.0
    case: str | None = None
    size_bytes: int = 0
    by: str = ""

    def __str__(self) -> str:
        """The job as progress names it."""
        return f"{self.case or f'n = {self.size}'}: {self.label}"


@frozen
class JobOutcome:
    """A job's result.

    samples: seconds of the measured runs, in order. checked: the result of the job's check after
    its first run. is_first_run: no round took place, so the only sample is that of the first run.
    """

    job: MeasuredJob
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


@frozen
class NotRun:
    """A job without a result, and why. is_refused: a driver or a library raised an error."""

    job: MeasuredJob
    reason: str
    is_refused: bool = False


@frozen
class Measured:
    """The results of a measurement, or those so far.

    spent_s: seconds of the budget. busy_share: the part of the processors' time that other
    processes took, from 0 to 1; None for a measurement too short to tell.
    """

    outcomes: tuple[JobOutcome, ...]
    not_run: tuple[NotRun, ...]
    spent_s: float
    busy_share: float | None


def count_steps(jobs: Sequence[MeasuredJob], rounds: Rounds) -> int:
    """The number of progress reports of `measure`."""
    return len(jobs) * (1 + rounds.count)


def held_bytes() -> int:
    """The bytes that jobs may take together, while they are open."""
    return max(LEAST_BYTES, min(MOST_BYTES, free_memory().size_bytes // _SHARE))


def bytes_of(plan: Plan) -> int:
    """About how many bytes a prepared plan takes: textures and transfers."""
    return plan.texture_bytes + sum(m.size_bytes for m in (*plan.operands, *plan.results))


# Measuring ---------------------------------------------------------------------------------------


def measure(
    jobs: Sequence[MeasuredJob],
    budget: Budget,
    rounds: Rounds = DEFAULT_ROUNDS,
    *,
    results: Callable[[Measured], object] = lambda _: None,
) -> Measured:
    """Measure jobs within the budget, all of one size together, the smallest size first.

    budget: its `tell` is called for each of `count_steps` steps. results: called with all results
    so far whenever there are new ones, and when the measurement is interrupted.

    If no job fits the budget, the cheapest one is run once. Results are in the order of the jobs.
    An error that a driver or a library raises becomes the reason why its job was not run; the other
    jobs are not affected.
    """
    measurement = _Measurement(jobs, budget, rounds, results)
    for size in sorted({job.size for job in jobs}):
        alike = [job for job in jobs if job.size == size]
        fit = sum(job.size_bytes for job in alike) <= held_bytes()
        for group in [alike] if fit else [[job] for job in alike]:
            measurement.together(group)
    if not measurement.so_far().outcomes:
        measurement.cheapest_in_any_case()
    return measurement.so_far()


@frozen
class _Cost:
    """The times of a series at a size, in seconds of the budget's clock.

    transfers_s: of all but computing in a run, and of the check.
    """

    size: int
    open_s: float
    transfers_s: float
    compute_s: float

    def at(self, size: int) -> float:
        """The expected seconds to open, run once and check at another size."""
        ratio = size / self.size
        return self.open_s * ratio + self.transfers_s * ratio**2 + self.compute_s * ratio**3


@dataclass(eq=False)
class Contender:
    """Something that runs in turn with others, within a budget.

    run: runs it once, and gives seconds. wall_s: of the last run, with transfers. samples: the
    seconds of its measured runs.
    """

    run: Callable[[], float]
    budget: Budget
    wall_s: float = 0.0
    samples: list[float] = field(default_factory=list)

    def once(self) -> float:
        """Run once, and give the seconds without keeping them."""
        started = self.budget.clock()
        seconds = self.run()
        self.wall_s = self.budget.clock() - started
        return seconds

    def sample(self) -> bool:
        """Make a measured run; False if it does not fit the budget."""
        if self.budget.refusal(self.wall_s) is not None:
            return False
        self.samples.append(self.once())
        return True


@dataclass(eq=False, kw_only=True)
class _OpenJob(Contender):
    """A job while its size is measured.

    unmeasured: seconds of the runs before the rounds. error: why it has left the rounds.
    """

    job: MeasuredJob
    ready: Ready
    unmeasured: list[float]
    checked: Any = None
    error: str | None = None

    def result(self) -> JobOutcome | NotRun:
        """Its result so far."""
        if self.error is not None and not self.samples:
            return NotRun(self.job, self.error, is_refused=True)
        samples = tuple(self.samples or self.unmeasured[-1:])
        return JobOutcome(self.job, samples, self.checked, not self.samples)


@dataclass(eq=False)
class _Measurement:
    """The state of a measurement: the costs of each series, and the results so far."""

    jobs: Sequence[MeasuredJob]
    budget: Budget
    rounds: Rounds
    results: Callable[[Measured], object]
    other_work: OtherWork = field(default_factory=OtherWork)
    known: dict[Hashable, _Cost] = field(default_factory=dict)
    guesses: dict[MeasuredJob, float] = field(default_factory=dict)
    corrections: dict[str, float] = field(default_factory=dict)
    done: dict[MeasuredJob, JobOutcome | NotRun] = field(default_factory=dict)
    open_jobs: list[_OpenJob] = field(default_factory=list)

    def so_far(self) -> Measured:
        """The results so far."""
        done = self.done | {own.job: own.result() for own in self.open_jobs}
        results = [done[job] for job in self.jobs if job in done]
        return Measured(
            tuple(result for result in results if isinstance(result, JobOutcome)),
            tuple(result for result in results if isinstance(result, NotRun)),
            self.budget.spent_s,
            self.other_work.share(),
        )

    def expected_s(self, job: MeasuredJob) -> float:
        """Seconds that running a job once may take, as far as is known.

        Without a known cost it is the job's estimate, corrected by the error of the last estimate
        with the same `by`.
        """
        if (cost := self.known.get(job.series)) is not None:
            return cost.at(job.size)
        return self.guess_s(job) * self.corrections.get(job.by, 1.0)

    def guess_s(self, job: MeasuredJob) -> float:
        """The job's own estimate, which takes time to make; infinite once the budget is spent."""
        if job not in self.guesses:
            self.guesses[job] = job.expected_s() if self.budget.left_s > 0.0 else inf
        return self.guesses[job]

    def cheapest_in_any_case(self) -> None:
        """Run the cheapest job once; the next cheapest if it fails."""
        left_out = [r.job for r in self.so_far().not_run if not r.is_refused]
        for job in sorted(left_out, key=self.expected_s):
            with self.errors_of(job), ExitStack() as held:
                self.open_jobs = [self.open(job, held)]
            if self.open_jobs:
                self.finish()
                return

    # One group of jobs ---------------------------------------------------------------------------

    def together(self, jobs: Sequence[MeasuredJob]) -> None:
        """Make the first runs and all rounds of jobs of one size."""
        try:
            with ExitStack() as held:
                left = list(jobs)
                while left:
                    left.remove(job := min(left, key=self.expected_s))
                    if (reason := self.budget.refusal(self.expected_s(job))) is not None:
                        self.done[job] = NotRun(job, reason)
                    else:
                        with self.errors_of(job):
                            self.open_jobs.append(self.open(job, held))
                    has_rounds = job not in self.done
                    for _ in range(1 if has_rounds else 1 + self.rounds.count):
                        self.budget.tell(str(job))
                    if has_rounds:
                        self.results(self.so_far())
                for _ in range(self.rounds.count):
                    for own in self.open_jobs:
                        self.take(own)
                    self.results(self.so_far())
        finally:
            self.finish()

    def finish(self) -> None:
        """Keep the results of a group, complete or interrupted."""
        for own in self.open_jobs:
            self.done[own.job] = result = own.result()
            if isinstance(result, JobOutcome):
                known = self.known[own.job.series]
                self.known[own.job.series] = replace(known, compute_s=result.seconds)
        self.open_jobs = []
        self.results(self.so_far())

    @contextmanager
    def errors_of(self, job: MeasuredJob) -> Iterator[None]:
        """Turn an error into the reason why a job was not run."""
        try:
            yield
        except Exception as error:  # a driver or a library may raise any error
            self.done[job] = NotRun(job, why(error), is_refused=True)

    # Runs ----------------------------------------------------------------------------------------

    def open(self, job: MeasuredJob, held: ExitStack) -> _OpenJob:
        """Open a job, run it and check the result. held: closes it.

        The very first run of a series may load libraries, so another one follows if it is short.
        """
        clock, is_new = self.budget.clock, job.series not in self.known
        started = clock()
        ready = held.enter_context(job.open())
        opened = clock()
        own = _OpenJob(ready.run, self.budget, job=job, ready=ready, unmeasured=[])
        own.unmeasured.append(own.once())
        if is_new and 0.0 < (guess_s := self.guess_s(job)) < inf:
            self.corrections[job.by] = (opened - started + own.wall_s) / guess_s
        own.checked = ready.check()
        transfers_s = max(0.0, clock() - opened - own.unmeasured[0])
        if is_new and self.budget.refusal(_SHORT * own.wall_s) is None:
            own.unmeasured.append(own.once())
            transfers_s = min(transfers_s, max(0.0, own.wall_s - own.unmeasured[1]))
        self.known[job.series] = _Cost(job.size, opened - started, transfers_s, min(own.unmeasured))
        return own

    def take(self, own: _OpenJob) -> None:
        """Make a job's runs of a round, within the budget."""
        if own.error is None and own.unmeasured[-1] < self.rounds.longest_s:
            try:
                own.ready.settle()
                fastest = min(*own.unmeasured, *own.samples, own.wall_s)
                for _ in range(self.rounds.runs(fastest)):
                    if not own.sample():
                        break
            except Exception as error:  # as in `errors_of`
                own.error = why(error)
        self.budget.tell(str(own.job))


def why(error: Exception) -> str:
    """An error in words, in one line."""
    if isinstance(error, MemoryError):
        return f"this machine has too little memory for it ({error})"
    return " ".join(str(error).split()) or type(error).__name__
