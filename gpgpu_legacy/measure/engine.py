"""The engine of all measuring: given jobs and a budget, it returns their times.

Jobs of one size are measured together. The engine opens each of them and runs it once, the cheapest
first, as far as costs are known. Rounds follow (measure/timing.py): in each round every job runs in
turn. A job's time is the median of its runs in the rounds. If memory cannot hold all jobs of a size
at once, each has its rounds by itself.

A run does not start if it is expected to outlast the budget. The expectation follows from a smaller
size: computing grows with the cube of the size, transfers and checks with its square, preparing
with the size itself. If no smaller size was asked for, the engine probes some. A job whose
rounds do not fit has its first run as its result. If nothing fits, the cheapest job is run once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.measure.timing import DEFAULT_ROUNDS, Budget, OtherWork, Rounds, take_rounds
from gpgpu_legacy.plan.memory import free_memory
from gpgpu_legacy.plan.plan import Plan

PROBE_SIZE, PROBE_STEP = 64, 4  # the first size to probe, and the ratio of the next to it

LEAST_BYTES, MOST_BYTES = 2 << 30, 8 << 30  # of prepared plans; the most also fits a GPU's memory
_SHARE = 8  # of the memory that is free
_MATRICES = 6  # float32: A, B, C, C's second framebuffer, and two for transfers


# What it takes and gives -------------------------------------------------------------------------


@frozen
class Ready:
    """A job that is open.

    run: runs it once and gives the seconds of computing, without transfers. check: reduces the last
    run's result to what the outcome keeps, such as its error. settle: called before the runs of a
    round; waits until what earlier jobs have started is over.
    """

    run: Callable[[], float]
    check: Callable[[], Any]
    settle: Callable[[], object] = lambda: None


@frozen
class MeasuredJob:
    """Work to run at a size.

    series: identifies the work apart from its size; hashable. label: names the series to people.
    open: prepares runs of any size, since smaller ones are probed. least: the smallest size that
    can be opened; `size` if there is no smaller one to probe. case: the work at this size, in
    words, if not a product of n×n matrices.
    """

    series: Any
    size: int
    label: str
    open: Callable[[int], AbstractContextManager[Ready]]
    least: int = 1
    case: str | None = None

    def __str__(self) -> str:
        """The job as progress names it."""
        return f"{self.case or f'n = {self.size}'}: {self.label}"


@frozen
class JobOutcome:
    """A job's result.

    samples: seconds of the measured runs, in order. checked: the result of the job's check after
    its first run. is_first_run: no round took place, so the only sample is of a run that would
    otherwise not be measured.
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


def fit_at_once(plan_bytes: int) -> int:
    """The number of prepared plans of that size that fit in the memory limit; at least 1."""
    held = max(LEAST_BYTES, min(MOST_BYTES, free_memory().size_bytes // _SHARE))
    return max(1, held // max(1, plan_bytes))


def bytes_of(plan: Plan) -> int:
    """About how many bytes a prepared plan takes: textures and transfers."""
    moved = sum(matrix.rows * matrix.columns for matrix in (*plan.operands, *plan.results))
    return 4 * moved + plan.texture_bytes


def products_at_once(size: int) -> int:
    """The number of prepared n×n products that fit in the memory limit; at least 1."""
    return fit_at_once(_MATRICES * 4 * size**2)


# Measuring ---------------------------------------------------------------------------------------


def measure(
    jobs: Sequence[MeasuredJob],
    budget: Budget,
    rounds: Rounds = DEFAULT_ROUNDS,
    *,
    progress: Callable[[str], object] = lambda _: None,
    results: Callable[[Measured], object] = lambda _: None,
    room: Callable[[int], int] = products_at_once,
) -> Measured:
    """Measure jobs within the budget, all of one size together, the smallest size first.

    progress: called with a description, `count_steps` times in all. results: called with all
    results so far whenever there are new ones, and when the measurement is interrupted.
    room: the number of jobs of a size that fit in memory at once. If no job fits the budget, the
    cheapest one is run once. Results are in the order of the jobs. An error that a driver or a
    library raises becomes the reason why its job was not run; the other jobs are not affected.
    """
    rank = {job: number for number, job in enumerate(jobs)}
    measurement = _Measurement(rank, budget, rounds, progress, results)
    for size in sorted({job.size for job in jobs}):
        alike = [job for job in jobs if job.size == size]
        for group in [alike] if room(size) >= len(alike) else [[job] for job in alike]:
            measurement.together(group)
    if not measurement.outcomes:
        measurement.cheapest_in_any_case()
    return measurement.so_far()


@frozen
class _Cost:
    """The times of a series at a size, in seconds of the budget's clock.

    transfers_s: of a run beside computing, and of the check.
    """

    size: int
    open_s: float
    transfers_s: float
    compute_s: float

    def at(self, size: int) -> float:
        """Seconds to open, run once and check at another size, at most."""
        ratio = size / self.size
        return self.open_s * ratio + self.transfers_s * ratio**2 + self.compute_s * ratio**3


@dataclass(slots=True, eq=False)
class _Contender:
    """A job while its size is measured.

    run_s: seconds of its last run, transfers included. unmeasured: seconds of the runs before the
    rounds. error: why it has left the rounds.
    """

    job: MeasuredJob
    ready: Ready
    run_s: float
    checked: Any
    unmeasured: list[float]
    samples: list[float] = field(default_factory=list)
    error: str | None = None

    def result(self) -> JobOutcome | NotRun:
        """Its result by now."""
        if self.error is not None and not self.samples:
            return NotRun(self.job, self.error, is_refused=True)
        samples = tuple(self.samples or self.unmeasured[-1:])
        return JobOutcome(self.job, samples, self.checked, not self.samples)


@dataclass(eq=False)
class _Measurement:
    """The state of a measurement: the costs of each series, and the results so far.

    rank: the order of results.
    """

    rank: Mapping[MeasuredJob, int]
    budget: Budget
    rounds: Rounds
    progress: Callable[[str], object]
    results: Callable[[Measured], object]
    other_work: OtherWork = field(default_factory=OtherWork)
    known: dict[Hashable, _Cost] = field(default_factory=dict)
    outcomes: list[JobOutcome] = field(default_factory=list)
    not_run: list[NotRun] = field(default_factory=list)
    contenders: list[_Contender] = field(default_factory=list)

    def so_far(self) -> Measured:
        """The results by now."""
        known = [*self.outcomes, *self.not_run, *(c.result() for c in self.contenders)]
        known.sort(key=lambda result: self.rank[result.job])
        return Measured(
            tuple(result for result in known if isinstance(result, JobOutcome)),
            tuple(result for result in known if isinstance(result, NotRun)),
            self.budget.spent_s,
            self.other_work.share(),
        )

    def tell_results(self) -> None:
        self.results(self.so_far())

    # The order of jobs ---------------------------------------------------------------------------

    def expected_s(self, job: MeasuredJob) -> float:
        """Seconds that running a job once may take, as far as is known; 0 if nothing is."""
        cost = self.known.get(job.series)
        return 0.0 if cost is None else cost.at(job.size)

    def order(self, job: MeasuredJob) -> tuple[bool, float, int]:
        """The sort key of jobs: their cost, unknown costs last."""
        return job.series not in self.known, self.expected_s(job), job.size

    def cheapest_in_any_case(self) -> None:
        """Run the cheapest job once; the next cheapest if it fails."""
        left_out = [entry for entry in self.not_run if not entry.is_refused]
        for least in sorted(left_out, key=lambda entry: self.order(entry.job)):
            self.not_run.remove(least)
            with self.errors_of(least.job), ExitStack() as held:
                self.contenders = [self.open(least.job, held)]
            if self.contenders:
                self.finish()
                return

    # One group of jobs ---------------------------------------------------------------------------

    def together(self, jobs: Sequence[MeasuredJob]) -> None:
        """The first runs and all rounds of jobs of one size."""
        try:
            with ExitStack() as held:
                for job in self.cheapest_of(jobs):
                    self.tell_first(job, has_rounds=self.start(job, held))
                take_rounds(self.contenders, self.take, self.rounds.count, self.after_round)
        finally:
            self.finish()

    def cheapest_of(self, jobs: Sequence[MeasuredJob]) -> list[MeasuredJob]:
        """Jobs of one size, the cheapest first, then those of unknown cost.

        Probes tell the costs. They use at most half of the budget that is left; further probes
        wait until their jobs start.
        """
        probing = self.budget.share(2)
        rest: list[MeasuredJob] = []
        for job in jobs:
            with self.errors_of(job):
                while not probing.is_over and self.probe(job):
                    pass
                rest.append(job)
                continue
            self.tell_first(job, has_rounds=False)
        return sorted(rest, key=self.order)

    def finish(self) -> None:
        """Keep the results of a group, complete or interrupted."""
        for contender in self.contenders:
            result = contender.result()
            if isinstance(result, NotRun):
                self.not_run.append(result)
                continue
            self.outcomes.append(result)
            known = self.known[result.job.series]
            self.known[result.job.series] = replace(known, compute_s=result.seconds)
        self.contenders = []
        self.tell_results()

    def tell_first(self, job: MeasuredJob, *, has_rounds: bool) -> None:
        """Report a first run, and all rounds at once for a job that will have none."""
        for _ in range(1 if has_rounds else 1 + self.rounds.count):
            self.progress(str(job))
        if has_rounds:
            self.tell_results()

    def after_round(self, _: int) -> Sequence[_Contender]:
        self.tell_results()
        return self.contenders

    def start(self, job: MeasuredJob, held: ExitStack) -> bool:
        """The first run of a job, if it fits; whether it took place. held: closes the job."""
        with self.errors_of(job):
            while self.probe(job):
                pass
            if (reason := self.budget.refusal(self.expected_s(job))) is not None:
                self.not_run.append(NotRun(job, reason))
                return False
            self.contenders.append(self.open(job, held))
            return True
        return False

    @contextmanager
    def errors_of(self, job: MeasuredJob) -> Iterator[None]:
        """Turn an error into the reason why a job was not run."""
        try:
            yield
        except Exception as error:  # a driver or a library may raise any error
            self.not_run.append(NotRun(job, why(error), is_refused=True))

    # Runs ----------------------------------------------------------------------------------------

    def probe(self, job: MeasuredJob) -> bool:
        """Run the next smaller size to learn its cost; False if none is needed, or none fits."""
        cost = self.known.get(job.series)
        size = max(PROBE_SIZE if cost is None else PROBE_STEP * cost.size, job.least)
        if size >= job.size or self.budget.refusal(cost.at(size) if cost else 0.0) is not None:
            return False
        with ExitStack() as held:
            self.open(replace(job, size=size), held)
        return True

    def open(self, job: MeasuredJob, held: ExitStack) -> _Contender:
        """Open a job, run it and check the result. held: closes it.

        The very first run of a series may load libraries, so another one follows if it fits.
        """
        clock, is_new = self.budget.clock, job.series not in self.known
        started = clock()
        ready = held.enter_context(job.open(job.size))
        opened = clock()
        seconds = [ready.run()]
        run_s = clock() - opened
        checked = ready.check()
        transfers_s = max(0.0, clock() - opened - seconds[0])
        if is_new and self.budget.refusal(run_s) is None:
            began = clock()
            seconds.append(ready.run())
            run_s = clock() - began
            transfers_s = min(transfers_s, max(0.0, run_s - seconds[1]))
        cost = _Cost(job.size, opened - started, transfers_s, min(seconds))
        self.known[job.series] = cost
        return _Contender(job, ready, run_s, checked, seconds)

    def take(self, contender: _Contender) -> None:
        """A job's part of a round, within the budget."""
        if contender.error is None and contender.unmeasured[-1] < self.rounds.longest_s:
            try:
                self.sample(contender)
            except Exception as error:  # as in `errors_of`
                contender.error = why(error)
        self.progress(str(contender.job))

    def sample(self, contender: _Contender) -> None:
        fastest = min(*contender.unmeasured, *contender.samples, contender.run_s)
        contender.ready.settle()
        for _ in range(self.rounds.runs(fastest)):
            if self.budget.refusal(contender.run_s) is not None:
                return
            started = self.budget.clock()
            contender.samples.append(contender.ready.run())
            contender.run_s = self.budget.clock() - started


def why(error: Exception) -> str:
    """An error in words, in one line."""
    if isinstance(error, MemoryError):
        return f"this machine has too little memory for it ({error})"
    return " ".join(str(error).split()) or type(error).__name__
