"""The papers' measured tables: published, recomputed, and measured here.

Speed-ups and rates are recomputed from the published times; they are not always the printed ones.
What is measured here is run by the measuring engine, the cheapest first, until the budget is spent;
what is left is marked as not run, and nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from time import perf_counter

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.engine import measure
from gpgpu_legacy.measure.jobs import Job, Listener, Measured, Order, count_steps
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.runs import product_job
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Interpolation, Rate, Ratio
from gpgpu_legacy.published.tables import MeasuredCell, MeasuredTable, Row, Series
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.prepared import Timings
from gpgpu_legacy.runtime.registry import available

MS_PER_S = 1e3
ROUNDS = Rounds(count=3, most_runs=1, longest_s=0.25)


# What is run here ------------------------------------------------------------------------------


class Status(Enum):
    """What became of a run."""

    MEASURED = "measured"
    NOT_RUN = "not run"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The seconds of a product's passes, without transfers, or why there are none.

    is_first_run: whether the only run was the first, since it is long or the budget had no room for
    more.
    """

    status: Status
    seconds: float | None = None
    reason: str = ""
    is_first_run: bool = False


@dataclass(frozen=True, slots=True)
class Measurements:
    """What was run for a paper. devices and outcomes: by the executor's name.

    candidates: the executors that may run each series, by table id and label. busy_share: the part
    of the processors' time that other processes took meanwhile, from 0 to 1; None where it is not
    known.
    """

    budget_s: float
    spent_s: float
    devices: Mapping[str, str]
    outcomes: Mapping[tuple[Product, str], Outcome]
    candidates: Mapping[tuple[str, str], tuple[str, ...]]
    busy_share: float | None = None

    def find(self, series: Series, cell: MeasuredCell | None, executor: str) -> Outcome | None:
        """The outcome of a cell on an executor; None where it was no candidate."""
        if cell is None or series.method is None:
            return None
        return self.outcomes.get((_product(series, cell), executor))

    def source(self, table: MeasuredTable, series: Series, executor: str) -> str | None:
        """The executor whose times are shown with another's: itself, else the host's."""
        candidates = self.candidates.get((table.id, series.label), ())
        return next((name for name in (executor, series.executor) if name in candidates), None)

    def executors(self, table: MeasuredTable) -> list[str]:
        """The executors that may run a series of the table."""
        keys = [(table.id, series.label) for series in table.series]
        names = {name for key in keys for name in self.candidates.get(key, ())}
        return [name for name in self.devices if name in names]

    def seconds(
        self, table: MeasuredTable, series: Series, executor: str, row: Row
    ) -> float | None:
        """A time that is shown with an executor's; None where it is missing."""
        source = self.source(table, series, executor)
        outcome = self.find(series, series.at(*row), source) if source else None
        return outcome.seconds if outcome else None

    def ratio(self, table: MeasuredTable, ratio: Ratio, executor: str, row: Row) -> float | None:
        """A speed-up by the times measured here; None where one of them is missing."""
        return quotient(
            self.seconds(table, table.find(ratio.over), executor, row),
            self.seconds(table, table.find(ratio.under), executor, row),
        )


NOTHING_MEASURED = Measurements(0.0, 0.0, {}, {}, {})


def _product(series: Series, cell: MeasuredCell) -> Product:
    assert series.method is not None
    return Product(series.method, cell.size, cell.block, dynamic=series.dynamic, beta=series.beta)


Candidates = Mapping[tuple[str, str], tuple[Executor, ...]]
_Run = tuple[Product, str]  # a product and the executor's name; in a job's series its size is 0


def measure_paper(
    paper: Paper,
    budget_s: float,
    *,
    executors: Sequence[Executor] | None = None,
    progress: Callable[[str], object] = lambda _: None,
    clock: Callable[[], float] = perf_counter,
) -> Measurements:
    """Run the cells of a paper's measured tables here, the cheapest first, on random matrices.

    budget_s: seconds for all of it, preparation and transfers included.
    executors: those that may run; without, all that work here. progress: called `count_runs` times.
    Raises InputError where the budget is not a number of seconds.
    """
    budget = Budget(budget_s, clock)
    chosen = available() if executors is None else executors
    candidates = _candidates(paper, chosen)
    measured = measure(
        _jobs(paper, candidates),
        budget,
        ROUNDS,
        order=Order.COST,
        listener=Listener(progress),
        last_resort_s=budget_s,
    )
    names = {executor.name for able in candidates.values() for executor in able}
    return Measurements(
        budget_s=budget_s,
        spent_s=measured.spent_s,
        devices={executor.name: executor.device() for executor in chosen if executor.name in names},
        outcomes=_outcomes(measured),
        candidates={key: tuple(e.name for e in able) for key, able in candidates.items()},
        busy_share=measured.busy_share,
    )


def count_runs(paper: Paper) -> int:
    """How often `measure_paper` reports progress, with the executors that work here."""
    return count_steps(_jobs(paper, _candidates(paper, available())), ROUNDS)


def _candidates(paper: Paper, executors: Sequence[Executor]) -> Candidates:
    return {
        (table.id, series.label): _able(series, executors)
        for table in paper.measured
        for series in table.series
    }


def _able(series: Series, executors: Sequence[Executor]) -> tuple[Executor, ...]:
    """The executors that may run a series: the one it names, where that can run, else all.

    The reference machine is vectorised over invocations, so a kernel of a single one is too slow.
    """
    if series.method is None or not series.cells:
        return ()
    plan = replace(_product(series, series.cells[0]), size=2).plan
    able = [executor for executor in executors if plan.kinds <= executor.capabilities.passes]
    if plan.is_sequential:
        able = [executor for executor in able if not executor.capabilities.is_reference]
    named = [executor for executor in able if executor.name == series.executor]
    return tuple(named or able)


def _jobs(paper: Paper, candidates: Candidates) -> list[Job[_Run, list[Timings]]]:
    """A job for each product on each executor, once even where several tables have it."""
    jobs: dict[_Run, Job[_Run, list[Timings]]] = {}
    for table in paper.measured:
        for series in table.series:
            for cell in series.cells:
                product = _product(series, cell) if series.method is not None else None
                for executor in candidates[table.id, series.label]:
                    assert product is not None
                    job = product_job(
                        (replace(product, size=0), executor.name),
                        product.method,
                        product.options,
                        product.size,
                        executor,
                        expected_s=cell.value / MS_PER_S,
                    )
                    jobs.setdefault((product, executor.name), job)
    return list(jobs.values())


def _run(job: Job[_Run, list[Timings]]) -> _Run:
    product, executor = job.series
    return replace(product, size=job.size), executor


def _outcomes(measured: Measured[_Run, list[Timings]]) -> dict[_Run, Outcome]:
    outcomes = {
        _run(outcome.job): Outcome(
            Status.MEASURED, outcome.seconds, is_first_run=outcome.is_first_run
        )
        for outcome in measured.outcomes
    }
    for left in measured.not_run:
        status = Status.REFUSED if left.is_refused else Status.NOT_RUN
        outcomes[_run(left.job)] = Outcome(status, reason=left.reason)
    return outcomes


# What follows from the times --------------------------------------------------------------------


def rate(kind: Rate, size: int, seconds: float | None) -> float | None:
    """The rate of a time at n×n; None where the time is missing or 0, or no rate is asked for."""
    if not seconds or kind is Rate.NONE:
        return None
    if kind is Rate.GFLOPS:
        return Shape(size, size, size).gflops(seconds)
    return 1e9 * seconds / size**3


def published_seconds(series: Series, row: Row) -> float | None:
    """A published time; None where the paper has none."""
    cell = series.at(*row)
    return None if cell is None else cell.value / MS_PER_S


def published_ratio(table: MeasuredTable, ratio: Ratio, row: Row) -> float | None:
    """A speed-up by the published times; None where one of them is 0 or missing."""
    return quotient(
        published_seconds(table.find(ratio.over), row),
        published_seconds(table.find(ratio.under), row),
    )


def quotient(over: float | None, under: float | None) -> float | None:
    """One time over another; None where one of them is missing or 0."""
    return over / under if over and under else None


def interpolated_seconds(paper: Paper, interpolation: Interpolation, row: Row) -> float | None:
    """A published time between two sizes of another table, linear in the time of a step.

    None where the other table has no such block, or no size on either side.
    """
    size, block = row
    series = paper.measurements(interpolation.table).find(interpolation.of)
    points = [(c.size, c.value / MS_PER_S) for c in series.cells if c.block == block]
    below = [p for p in points if p[0] <= size]
    above = [p for p in points if p[0] >= size]
    if not below or not above:
        return None
    (n0, t0), (n1, t1) = max(below), min(above)
    share = 0.0 if n0 == n1 else (size - n0) / (n1 - n0)
    step = (1.0 - share) * t0 / n0**3 + share * t1 / n1**3
    return step * size**3
