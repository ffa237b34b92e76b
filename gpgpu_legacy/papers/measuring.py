"""The papers' measured tables: published, recomputed, and measured here.

Speed-ups and rates are recomputed from the published times; they are not always the printed ones.
Our own measurements are run by the measuring engine, the smallest sizes first, until the budget is
spent; the rest is marked as not run, and nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any

from gpgpu_legacy.measure.engine import Measured, MeasuredJob, Ready, count_steps, measure
from gpgpu_legacy.measure.timing import Budget, this_platform
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.measured_table import (
    ROUNDS,
    MeasuredTables,
    SpeedUps,
    Status,
    TimedCell,
    TimedRow,
    TimedTable,
    TimeHere,
    quotient,
    source_of,
)
from gpgpu_legacy.papers.published.papers import MeasuredCell, MeasuredTable, Paper, Row, Series
from gpgpu_legacy.papers.published.schema import Quantity, Rate
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.runtime.executor import Executor, available
from gpgpu_legacy.runtime.prepared import Timings
from gpgpu_legacy.serial import as_record, provenance, with_fields


def product_job(series: Any, product: Product, executor: Executor) -> MeasuredJob:
    """A product of random n×n matrices on an executor.

    series: the job's. Its check gives the timings of its runs in order, in a list that further runs
    add to; probes of other sizes are not in it.
    """
    timings: list[Timings] = []

    @contextmanager
    def open_at(at: int) -> Iterator[Ready]:
        p = replace(product, size=at).builder
        plan = p.plan()
        operands = sample_inputs(plan, p.samples)

        def run() -> float:
            taken = prepared.run(operands).timings
            if at == product.size:
                timings.append(taken)
            return taken.compute_s

        with executor.prepare(plan) as prepared:
            yield Ready(run, lambda: timings)

    label = f"{product.method} on {executor.name}"
    return MeasuredJob(series, product.size, label, open_at)


MS_PER_S = 1e3
# What is run here ------------------------------------------------------------------------------


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
) -> MeasuredTables:
    """Run the cells of a paper's measured tables here on random matrices, the smallest first.

    budget_s: seconds for all of it, preparation and transfers included.
    executors: by default all that work here. progress: called `count_runs` times.
    Raises InputError if the budget is not a number of seconds.
    """
    budget = Budget(budget_s, clock)
    chosen = available() if executors is None else executors
    candidates = _candidates(paper, chosen)
    measured = measure(_jobs(paper, candidates), budget, ROUNDS, progress=progress)
    names = {executor.name for able in candidates.values() for executor in able}
    return measured_tables(
        paper,
        _outcomes(measured),
        {key: tuple(e.name for e in able) for key, able in candidates.items()},
        **provenance(this_platform().driver),
        budget_s=budget_s,
        spent_s=measured.spent_s,
        devices={executor.name: executor.device() for executor in chosen if executor.name in names},
        busy_share=measured.busy_share,
    )


def count_runs(paper: Paper) -> int:
    """The number of progress reports of `measure_paper`, with the executors that work here."""
    return count_steps(_jobs(paper, _candidates(paper, available())), ROUNDS)


def _candidates(paper: Paper, executors: Sequence[Executor]) -> Candidates:
    return {
        (table.id, series.label): _able(series, executors)
        for table in paper.measured
        for series in table.series
    }


def _able(series: Series, executors: Sequence[Executor]) -> tuple[Executor, ...]:
    """The executors that may run a series: the one it names, if that can run, else all.

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


def _jobs(paper: Paper, candidates: Candidates) -> list[MeasuredJob]:
    """A job for each product on each executor, once even if several tables have it."""
    jobs: dict[_Run, MeasuredJob] = {}
    for table in paper.measured:
        for series in table.series:
            for cell in series.cells:
                product = _product(series, cell) if series.method is not None else None
                for executor in candidates[table.id, series.label]:
                    assert product is not None
                    series_here = replace(product, size=0), executor.name
                    job = product_job(series_here, product, executor)
                    jobs.setdefault((product, executor.name), job)
    return list(jobs.values())


def _run(job: MeasuredJob) -> _Run:
    product, executor = job.series
    return replace(product, size=job.size), executor


def _outcomes(measured: Measured) -> dict[_Run, TimeHere]:
    taken = {
        _run(outcome.job): TimeHere(
            executor=outcome.job.series[1],
            status=Status.MEASURED,
            value=MS_PER_S * outcome.seconds,
            first_run=outcome.is_first_run,
        )
        for outcome in measured.outcomes
    }
    for left in measured.not_run:
        status = Status.REFUSED if left.is_refused else Status.NOT_RUN
        executor = left.job.series[1]
        taken[_run(left.job)] = TimeHere(executor=executor, status=status, reason=left.reason)
    return taken


# The tables -------------------------------------------------------------------------------------

Names = Mapping[tuple[str, str], tuple[str, ...]]


def measured_tables(
    paper: Paper,
    taken: Mapping[_Run, TimeHere] | None = None,
    candidates: Names | None = None,
    **about: Any,
) -> MeasuredTables:
    """A paper's tables of measurements, with our own measurements beside them.

    candidates: the executors that may run each series, by table id and label. about: the other
    fields, of a measurement.
    """
    tables = tuple(_table(paper, table, taken or {}, candidates or {}) for table in paper.measured)
    return MeasuredTables(paper=paper.id, tables=tables, **about)


def _table(
    paper: Paper, table: MeasuredTable, taken: Mapping[_Run, TimeHere], candidates: Names
) -> TimedTable:
    names = {series.label: candidates.get((table.id, series.label), ()) for series in table.series}
    rows = tuple(_line(paper, table, row, taken, names) for row in table.rows)
    return TimedTable(id=table.id, where=table.where, rows=rows)


def _line(
    paper: Paper,
    table: MeasuredTable,
    row: Row,
    taken: Mapping[_Run, TimeHere],
    names: Mapping[str, tuple[str, ...]],
) -> TimedRow:
    size, block = row
    own = [(series, series.at(*row)) for series in table.series]
    cells = [_cell(table, s, cell, taken, names[s.label]) for s, cell in own if cell is not None]
    line = TimedRow(
        size=size,
        threads=None if block is None else block**2,
        cells=tuple(cells),
        ratios=(),
    )

    def shown_with(label: str, executor: str) -> float | None:
        """The time of a series that is shown with an executor's."""
        source = source_of(table.find(label), names[label], executor)
        return None if source is None else line.number(label, source)

    def seconds(label: str) -> float | None:
        """A published time; None if the paper has none."""
        cell = table.find(label).at(*row)
        return None if cell is None else cell.value / MS_PER_S

    executors = dict.fromkeys(name for able in names.values() for name in able)
    ratios = (
        SpeedUps(
            label=ratio.label,
            recomputed=quotient(*(seconds(label) for label in (ratio.over, ratio.under))),
            measured={
                name: quotient(shown_with(ratio.over, name), shown_with(ratio.under, name))
                for name in executors
            },
        )
        for ratio in table.ratios
    )
    return with_fields(line, ratios=tuple(ratios))


def _cell(
    table: MeasuredTable,
    series: Series,
    cell: MeasuredCell,
    taken: Mapping[_Run, TimeHere],
    names: Sequence[str],
) -> TimedCell:
    def of(ms: float | None) -> float | None:
        return rate(table.rate, cell.size, None if ms is None else ms / MS_PER_S)

    is_timed = series.quantity is Quantity.TIME and series.method is not None
    product = _product(series, cell) if is_timed else None
    runs = [taken[product, name] for name in names if product and (product, name) in taken]
    return as_record(
        TimedCell,
        cell,
        series,
        series=series.label,
        published=cell.value,
        printed=cell.printed or None,
        repaired=cell.repaired or None,
        recomputed_rate=of(cell.value) if is_timed else None,
        measured=tuple(with_fields(one, rate=of(one.value)) for one in runs),
    )


# What follows from the times --------------------------------------------------------------------


def rate(kind: Rate, size: int, seconds: float | None) -> float | None:
    """The rate of a time at n×n; None if the time is missing or 0, or no rate is wanted."""
    if not seconds or kind is Rate.NONE:
        return None
    if kind is Rate.GFLOPS:
        return 2e-9 * size**3 / seconds
    return 1e9 * seconds / size**3
