"""The papers' measured tables: published, recomputed, and measured here beside.

The published times give speed-ups and rates of their own, which are not always the printed ones.
What is measured here is run in the order of its cost until the budget is spent; what is left over
is marked as not run, and nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from statistics import median
from time import perf_counter

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.operands import random_operands
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.errors import GpgpuLegacyError, InputError
from gpgpu_legacy.plan.plan import ComputePass, Plan
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Interpolation, Rate, Ratio
from gpgpu_legacy.published.tables import MeasuredCell, MeasuredTable, Series
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.registry import available

LARGEST_FIRST_SIZE = 128  # what may be started with nothing known of the time it takes
PROBE_SIZE = 64  # what is run first, for an estimate, where a series begins with a larger size
QUICK_SECONDS = 0.25  # a run shorter than this is repeated for its median
QUICK_REPEATS = 3


# What is run here ------------------------------------------------------------------------------


class Status(Enum):
    """What became of a run."""

    MEASURED = "measured"
    NOT_RUN = "not run"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Job:
    """A product of n×n matrices by a method. beta: where it is not 0, a C is added."""

    method: str
    size: int
    block: int | None
    dynamic: bool
    beta: float

    @property
    def options(self) -> Options:
        """What the method is told."""
        return Options(
            block=self.block, dynamic=self.dynamic, beta=self.beta, adds=self.beta != 0.0
        )

    def at(self, size: int) -> Job:
        """The same at another size."""
        return Job(self.method, size, self.block, self.dynamic, self.beta)

    def plan(self) -> Plan:
        """The plan of the product."""
        return find_method(self.method).plan(Shape(self.size, self.size, self.size), self.options)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: the seconds of its passes, or why there are none."""

    status: Status
    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Measurements:
    """What was run for a paper. devices and outcomes: by the executor's name.

    cast: the executors that stand for each series, by table id and label.
    """

    budget_s: float
    spent_s: float
    devices: Mapping[str, str]
    outcomes: Mapping[tuple[Job, str], Outcome]
    cast: Mapping[tuple[str, str], tuple[str, ...]]

    def find(self, series: Series, cell: MeasuredCell | None, executor: str) -> Outcome | None:
        """What became of a cell on an executor; None where it was no candidate."""
        if cell is None or series.method is None:
            return None
        return self.outcomes.get((_job(series, cell), executor))

    def source(self, table: MeasuredTable, series: Series, executor: str) -> str | None:
        """Whose times stand for a series beside an executor's: its own, else the host's."""
        cast = self.cast.get((table.id, series.label), ())
        return next((name for name in (executor, series.executor) if name in cast), None)


def _job(series: Series, cell: MeasuredCell) -> Job:
    assert series.method is not None
    return Job(series.method, cell.size, cell.block, series.dynamic, series.beta)


MS_PER_S = 1e3
_Known = dict[tuple[Job, str], tuple[int, float]]
"""The last size of each series that was run, and its seconds."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A job on an executor, and the paper's time for it."""

    job: Job
    executor: Executor
    published: float

    @property
    def series(self) -> tuple[Job, str]:
        """What runs of other sizes have in common with it."""
        return self.job.at(0), self.executor.name

    @property
    def needs_probe(self) -> bool:
        """Whether it is too large to be started with nothing known of it."""
        return self.job.size > LARGEST_FIRST_SIZE

    def estimate(self, known: _Known) -> float | None:
        """Seconds by what is known of another size; None where nothing is."""
        if self.series not in known:
            return None
        size, seconds = known[self.series]
        return seconds * (self.job.size / size) ** 3

    def order(self, known: _Known) -> tuple[float, int]:
        """What is tried first: the least seconds, by the paper's time where nothing is known."""
        estimate = self.estimate(known)
        if estimate is None:
            share = (PROBE_SIZE / self.job.size) ** 3 if self.needs_probe else 1.0
            estimate = self.published / MS_PER_S * share
        return estimate, self.job.size


def measure_paper(
    paper: Paper,
    budget_s: float,
    *,
    executors: Sequence[Executor] | None = None,
    progress: Callable[[str], None] | None = None,
    clock: Callable[[], float] = perf_counter,
    seed: int = 0,
) -> Measurements:
    """Run the cells of a paper's measured tables here, the cheapest first, on random matrices.

    budget_s: seconds for all of it. A run whose estimate, the time of the size before it times the
    cube of the sizes' quotient, does not fit what is left of them is not started.
    executors: those that can run here, if not given. progress: called once a run.
    Raises InputError where the budget is no number of seconds.
    """
    if not budget_s >= 0.0:
        raise InputError(f"the budget is {budget_s}; give a number of seconds, 0 or more")
    started = clock()
    able = available() if executors is None else executors
    cast = {
        (table.id, series.label): _cast(series, able)
        for table in paper.measured
        for series in table.series
    }
    known: _Known = {}
    outcomes: dict[tuple[Job, str], Outcome] = {}
    pending = _tasks(paper, cast)
    while pending:
        task = min(pending, key=lambda each: each.order(known))
        left = budget_s - (clock() - started)
        outcome = _attempt(task, known, left, clock, seed)
        if outcome is None:
            continue
        if progress is not None:
            progress(f"{task.job.method}, n = {task.job.size}, on {task.executor.name}")
        outcomes[task.job, task.executor.name] = outcome
        pending.remove(task)
    taking_part = {executor.name for found in cast.values() for executor in found}
    return Measurements(
        budget_s=budget_s,
        spent_s=clock() - started,
        devices={each.name: each.device() for each in able if each.name in taking_part},
        outcomes=outcomes,
        cast={key: tuple(executor.name for executor in found) for key, found in cast.items()},
    )


def count_runs(paper: Paper) -> int:
    """How many runs `measure_paper` goes through on the executors that can run here."""
    able = available()
    cast = {(t.id, s.label): _cast(s, able) for t in paper.measured for s in t.series}
    return len(_tasks(paper, cast))


def _cast(series: Series, executors: Sequence[Executor]) -> tuple[Executor, ...]:
    """Who can stand for a series: the one that plays the part of the paper's device, else all.

    A kernel of a single invocation leaves the reference nothing to vectorise over.
    """
    if series.method is None or not series.cells:
        return ()
    plan = _job(series, series.cells[0]).at(2).plan()
    kinds = frozenset(type(each) for _, each in plan.weighted_passes())
    able = [executor for executor in executors if kinds <= executor.capabilities.passes]
    if _is_sequential(plan):
        able = [executor for executor in able if not executor.capabilities.is_reference]
    host = [executor for executor in able if executor.name == series.executor]
    return tuple(host or able)


def _is_sequential(plan: Plan) -> bool:
    return all(
        isinstance(each, ComputePass)
        and set(each.groups) == {1}
        and set(each.kernel.local_size) == {1}
        for _, each in plan.weighted_passes()
    )


def _tasks(paper: Paper, cast: Mapping[tuple[str, str], tuple[Executor, ...]]) -> list[_Task]:
    """Every run once, however many tables it stands in."""
    tasks: dict[tuple[Job, str], _Task] = {}
    for table in paper.measured:
        for series in table.series:
            for cell in series.cells:
                for executor in cast[table.id, series.label]:
                    job = _job(series, cell)
                    tasks.setdefault((job, executor.name), _Task(job, executor, cell.value))
    return list(tasks.values())


def _attempt(
    task: _Task, known: _Known, left: float, clock: Callable[[], float], seed: int
) -> Outcome | None:
    """Run a task if it fits the seconds left; None where a small size had to be tried first."""
    if left <= 0.0:
        return Outcome(Status.NOT_RUN, reason="all of it was spent")
    estimate = task.estimate(known)
    if estimate is not None and estimate > left:
        return Outcome(Status.NOT_RUN, reason=f"about {estimate:.2g} s where {left:.2g} s are left")
    job, executor = task.job, task.executor
    try:
        if estimate is None and task.needs_probe:
            with _prepared(job.at(PROBE_SIZE), executor, seed) as run:
                known[task.series] = (PROBE_SIZE, run())
            return None
        with _prepared(job, executor, seed) as run:
            started = clock()
            taken = run()
            wall = clock() - started
            if taken < QUICK_SECONDS and wall * (QUICK_REPEATS + 1) < left:
                taken = median(run() for _ in range(QUICK_REPEATS))
    except GpgpuLegacyError as error:
        return Outcome(Status.REFUSED, reason=str(error))
    known[task.series] = (job.size, taken)
    return Outcome(Status.MEASURED, taken)


@contextmanager
def _prepared(job: Job, executor: Executor, seed: int) -> Iterator[Callable[[], float]]:
    """What runs a job once and gives the seconds of the passes alone."""
    shape = Shape(job.size, job.size, job.size)
    operands = random_operands(shape, find_method(job.method).options(job.options), seed)
    given = dict(zip(("A", "B", "C0"), operands, strict=False))
    with executor.prepare(job.plan()) as prepared:
        yield lambda: prepared.run(given).timings.compute_s


# What follows from the times --------------------------------------------------------------------


def rate(kind: Rate, size: int, seconds: float | None) -> float | None:
    """What a time at n×n comes to; None where the clock saw nothing, or nothing is asked."""
    if not seconds or kind is Rate.NONE:
        return None
    if kind is Rate.GFLOPS:
        return 2e-9 * size**3 / seconds
    return 1e9 * seconds / size**3


def published_seconds(series: Series, size: int, block: int | None) -> float | None:
    """A published time; None where there is none."""
    cell = series.at(size, block)
    return None if cell is None else cell.value / MS_PER_S


def published_ratio(
    table: MeasuredTable, ratio: Ratio, size: int, block: int | None
) -> float | None:
    """A speed-up by the published times; None where one of them is 0 or missing."""
    return quotient(
        published_seconds(table.find(ratio.over), size, block),
        published_seconds(table.find(ratio.under), size, block),
    )


def measured_seconds(
    table: MeasuredTable,
    found: Measurements,
    series: Series,
    executor: str,
    row: tuple[int, int | None],
) -> float | None:
    """A time measured here; None where there is none."""
    source = found.source(table, series, executor)
    outcome = found.find(series, series.at(*row), source) if source else None
    return outcome.seconds if outcome else None


def measured_ratio(
    table: MeasuredTable,
    found: Measurements,
    ratio: Ratio,
    executor: str,
    row: tuple[int, int | None],
) -> float | None:
    """A speed-up by the times measured here; None where one of them is missing."""
    return quotient(
        measured_seconds(table, found, table.find(ratio.over), executor, row),
        measured_seconds(table, found, table.find(ratio.under), executor, row),
    )


def quotient(over: float | None, under: float | None) -> float | None:
    """One time over another; None where one of them is missing or 0."""
    return over / under if over and under else None


def interpolated_seconds(
    paper: Paper, each: Interpolation, size: int, block: int | None
) -> float | None:
    """A published time between two sizes of another table, linear in the time of a step.

    None where the other table has no such block, or no size on either side.
    """
    series = paper.measurements(each.table).find(each.of)
    points = [(c.size, c.value / MS_PER_S) for c in series.cells if c.block == block]
    below = [p for p in points if p[0] <= size]
    above = [p for p in points if p[0] >= size]
    if not below or not above:
        return None
    (n0, t0), (n1, t1) = max(below), min(above)
    share = 0.0 if n0 == n1 else (size - n0) / (n1 - n0)
    step = (1.0 - share) * t0 / n0**3 + share * t1 / n1**3
    return step * size**3


# As grids ---------------------------------------------------------------------------------------


def executors_of(table: MeasuredTable, found: Measurements) -> list[str]:
    """The executors that measured a series of a table by themselves, in the order they run."""
    names = {name for s in table.series for name in found.cast.get((table.id, s.label), ())}
    return [name for name in found.devices if name in names]
