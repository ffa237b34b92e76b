"""The papers' measured tables: published, recomputed, and measured here.

Speed-ups and rates are recomputed from the published times; they are not always the printed ones.
Our own measurements are run by the measuring engine, the smallest sizes first, until the budget is
spent; the rest is marked as not run, and nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gpgpu_legacy.measure.engine import MeasuredJob, Ready, count_steps, measure
from gpgpu_legacy.measure.timing import Budget, this_platform
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.measured_table import (
    MS_PER_S,
    ROUNDS,
    MeasuredTables,
    SpeedUps,
    Status,
    TimedCell,
    TimedRow,
    TimedTable,
    TimeHere,
)
from gpgpu_legacy.papers.published.papers import MeasuredCell, MeasuredTable, Paper, Series
from gpgpu_legacy.papers.published.schema import Rate, Ratio
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.predict.auto import first_run_s
from gpgpu_legacy.runtime.executor import Executor, available
from gpgpu_legacy.serial import as_record, provenance, with_fields

# What is run here ------------------------------------------------------------------------------

_Run = tuple[Product, str]
"""A product and the executor's name."""


def measure_paper(
    paper: Paper,
    budget: Budget,
    *,
    executors: Sequence[Executor] | None = None,
) -> MeasuredTables:
    """Run the cells of a paper's measured tables here on random matrices, the smallest first.

    budget: for everything, preparation and transfers included; it is told of `count_runs` steps.
    executors: by default all that work here.
    """
    chosen = available() if executors is None else executors
    jobs = _jobs(paper, chosen)
    measured = measure([*jobs], budget, ROUNDS)
    taken = {
        jobs[outcome.job]: TimeHere(
            executor=jobs[outcome.job][1],
            status=Status.MEASURED,
            value=MS_PER_S * outcome.seconds,
            first_run=outcome.is_first_run,
        )
        for outcome in measured.outcomes
    } | {
        jobs[left.job]: TimeHere(
            executor=jobs[left.job][1],
            status=Status.REFUSED if left.is_refused else Status.NOT_RUN,
            reason=left.reason,
        )
        for left in measured.not_run
    }
    names = {name for _, name in taken}
    return measured_tables(
        paper,
        taken,
        **provenance(this_platform().driver),
        budget_s=budget.seconds,
        spent_s=measured.spent_s,
        devices={executor.name: executor.device() for executor in chosen if executor.name in names},
        busy_share=measured.busy_share,
    )


def count_runs(paper: Paper) -> int:
    """The number of progress reports of `measure_paper`, with the executors that work here."""
    return count_steps([*_jobs(paper, available())], ROUNDS)


def _jobs(paper: Paper, executors: Sequence[Executor]) -> dict[MeasuredJob, _Run]:
    """A job for each product on each executor, once even if several tables have it."""
    series = [one for table in paper.measured for one in table.series if one.method is not None]
    runs = dict.fromkeys(
        (_product(one, cell), executor)
        for one, able in [(one, _able(one, executors)) for one in series]
        for cell in one.cells
        for executor in able
    )
    return {_job(product, executor): (product, executor.name) for product, executor in runs}


def _able(series: Series, executors: Sequence[Executor]) -> list[Executor]:
    """The executors that may run a series: the one it names, if that can run, else all.

    The reference machine is vectorised over invocations, so a kernel of a single one is too slow.
    """
    plan = replace(_product(series, series.cells[0]), size=2).plan
    able = [
        executor
        for executor in executors
        if plan.kinds <= executor.capabilities.passes
        and not (plan.is_sequential and executor.capabilities.is_reference)
    ]
    return [executor for executor in able if executor.name == series.executor] or able


def _product(series: Series, cell: MeasuredCell) -> Product:
    assert series.method is not None
    beta = series.beta or None
    return Product(series.method, cell.size, cell.block, dynamic=series.dynamic, beta=beta)


_MATRICES = 6  # of a product: A, B, C, C's second framebuffer, and two for transfers


def _job(product: Product, executor: Executor) -> MeasuredJob:
    """A product of random n×n matrices on an executor."""

    @contextmanager
    def opened() -> Iterator[Ready]:
        p = product.builder
        operands = sample_inputs(p.plan(), p.samples)
        with executor.prepare(p.plan()) as prepared:
            yield Ready(lambda: prepared.run(operands).timings.compute_s, lambda: None)

    return MeasuredJob(
        (replace(product, size=0), executor.name),
        product.size,
        f"{product.method} on {executor.name}",
        opened,
        lambda: first_run_s(executor, product.builder.plan()),
        size_bytes=_MATRICES * 4 * product.size**2,
        by=executor.name,
    )


# The tables -------------------------------------------------------------------------------------


def measured_tables(
    paper: Paper, taken: Mapping[_Run, TimeHere] | None = None, **about: Any
) -> MeasuredTables:
    """A paper's tables of measurements, with our own measurements beside them.

    taken: our own, by product and executor. about: the other fields of `MeasuredTables`.
    """
    order = [*about.get("devices", ())]
    runs = dict(sorted((taken or {}).items(), key=lambda run: order.index(run[0][1])))
    tables = tuple(_table(table, runs) for table in paper.measured)
    return MeasuredTables(paper=paper.id, tables=tables, **about)


def _table(table: MeasuredTable, taken: Mapping[_Run, TimeHere]) -> TimedTable:
    rows = [
        TimedRow(
            size=size,
            threads=block and block**2,
            cells=tuple(
                _cell(table, series, cell, taken)
                for series in table.series
                if (cell := series.at(size, block)) is not None
            ),
        )
        for size, block in table.rows
    ]
    times = [time for row in rows for cell in row.cells for time in cell.measured]
    executors = dict.fromkeys(time.executor for time in times)
    timed = (
        with_fields(
            row, ratios=tuple(_speed_ups(table, ratio, row, executors) for ratio in table.ratios)
        )
        for row in rows
    )
    return as_record(TimedTable, table, rows=tuple(timed))


def _speed_ups(
    table: MeasuredTable, ratio: Ratio, row: TimedRow, executors: Iterable[str]
) -> SpeedUps:
    over, under = table.find(ratio.over), table.find(ratio.under)
    return SpeedUps(
        label=ratio.label,
        recomputed=_quotient(*(row.seconds(series.label) for series in (over, under))),
        measured={
            name: _quotient(row.beside(over, name), row.beside(under, name)) for name in executors
        },
    )


def _quotient(over: float | None, under: float | None) -> float | None:
    """One time over another; None if one of them is missing or 0."""
    return over / under if over and under else None


def _cell(
    table: MeasuredTable, series: Series, cell: MeasuredCell, taken: Mapping[_Run, TimeHere]
) -> TimedCell:
    product = _product(series, cell) if series.method else None
    return as_record(
        TimedCell,
        cell,
        series,
        series=series.label,
        published=cell.value,
        printed=cell.printed or None,
        repaired=cell.repaired or None,
        recomputed_rate=_rate(table.rate, cell.size, cell.value) if product else None,
        measured=tuple(
            with_fields(time, rate=_rate(table.rate, cell.size, time.value))
            for (own, _), time in taken.items()
            if own == product
        ),
    )


def _rate(kind: Rate, size: int, ms: float | None) -> float | None:
    """The rate of a time at n×n; None if the time is missing or 0, or no rate is wanted."""
    if not ms or kind is Rate.NONE:
        return None
    seconds = ms / MS_PER_S
    return 2e-9 * size**3 / seconds if kind is Rate.GFLOPS else 1e9 * seconds / size**3
