"""The papers' measured tables: published, recomputed, and measured here.

Speed-ups and rates are recomputed from the published times; they are not always the printed ones.
Our own measurements are run by the measuring engine, the smallest sizes first, until the budget is
spent; the rest is marked as not run, and nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gpgpu_legacy.measure.engine import MeasuredJob, Ready, count_steps, measure
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
from gpgpu_legacy.predict.auto import first_run_s
from gpgpu_legacy.runtime.executor import Executor, available
from gpgpu_legacy.serial import as_record, provenance, with_fields

MS_PER_S = 1e3

# What is run here ------------------------------------------------------------------------------

_Run = tuple[Product, str]
"""A product and the executor's name."""

Candidates = Mapping[tuple[str, str], tuple[str, ...]]
"""The executors that may run each series, by the table's id and the series' label."""


def measure_paper(
    paper: Paper,
    budget: Budget,
    *,
    executors: Sequence[Executor] | None = None,
) -> MeasuredTables:
    """Run the cells of a paper's measured tables here on random matrices, the smallest first.

    budget: for all of it, preparation and transfers included; it tells of `count_runs` steps.
    executors: by default all that work here.
    """
    chosen = available() if executors is None else executors
    candidates = _candidates(paper, chosen)
    jobs = _jobs(paper, chosen, candidates)
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
    names = {name for able in candidates.values() for name in able}
    return measured_tables(
        paper,
        taken,
        candidates,
        **provenance(this_platform().driver),
        budget_s=budget.seconds,
        spent_s=measured.spent_s,
        devices={executor.name: executor.device() for executor in chosen if executor.name in names},
        busy_share=measured.busy_share,
    )


def count_runs(paper: Paper) -> int:
    """The number of progress reports of `measure_paper`, with the executors that work here."""
    here = available()
    return count_steps([*_jobs(paper, here, _candidates(paper, here))], ROUNDS)


def _candidates(paper: Paper, executors: Sequence[Executor]) -> Candidates:
    return {
        (table.id, series.label): _able(series, executors)
        for table in paper.measured
        for series in table.series
    }


def _able(series: Series, executors: Sequence[Executor]) -> tuple[str, ...]:
    """The executors that may run a series: the one it names, if that can run, else all.

    The reference machine is vectorised over invocations, so a kernel of a single one is too slow.
    """
    if series.method is None or not series.cells:
        return ()
    plan = replace(_product(series, series.cells[0]), size=2).plan
    able = tuple(
        executor.name
        for executor in executors
        if plan.kinds <= executor.capabilities.passes
        and not (plan.is_sequential and executor.capabilities.is_reference)
    )
    return (series.executor,) if series.executor in able else able


def _product(series: Series, cell: MeasuredCell) -> Product:
    assert series.method is not None
    return Product(series.method, cell.size, cell.block, dynamic=series.dynamic, beta=series.beta)


def _jobs(
    paper: Paper, executors: Sequence[Executor], candidates: Candidates
) -> dict[MeasuredJob, _Run]:
    """A job for each product on each executor, once even if several tables have it."""
    by_name = {executor.name: executor for executor in executors}
    runs = dict.fromkeys(
        (_product(series, cell), name)
        for table in paper.measured
        for series in table.series
        for cell in series.cells
        for name in candidates[table.id, series.label]
    )
    return {_job(product, by_name[name]): (product, name) for product, name in runs}


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
    paper: Paper,
    taken: Mapping[_Run, TimeHere] | None = None,
    candidates: Candidates | None = None,
    **about: Any,
) -> MeasuredTables:
    """A paper's tables of measurements, with our own measurements beside them.

    about: the other fields, of a measurement.
    """
    tables = []
    for table in paper.measured:
        names = {s.label: (candidates or {}).get((table.id, s.label), ()) for s in table.series}
        rows = tuple(_row(table, row, taken or {}, names) for row in table.rows)
        tables.append(TimedTable(id=table.id, where=table.where, rows=rows))
    return MeasuredTables(paper=paper.id, tables=tuple(tables), **about)


def _row(
    table: MeasuredTable,
    row: Row,
    taken: Mapping[_Run, TimeHere],
    names: Mapping[str, tuple[str, ...]],
) -> TimedRow:
    """names: the executors that may run each series."""
    size, block = row
    own = [(series, series.at(*row)) for series in table.series]
    cells = [_cell(table, s, cell, taken, names[s.label]) for s, cell in own if cell is not None]
    line = TimedRow(
        size=size, threads=None if block is None else block**2, cells=tuple(cells), ratios=()
    )

    def shown_with(label: str, executor: str) -> float | None:
        """The time of a series that is shown with an executor's."""
        source = source_of(table.find(label), names[label], executor)
        return None if source is None else line.number(label, source)

    def seconds(label: str) -> float | None:
        """A published time; None if the paper has none."""
        ms = line.number(label)
        return None if ms is None else ms / MS_PER_S

    executors = dict.fromkeys(name for able in names.values() for name in able)
    ratios = (
        SpeedUps(
            label=ratio.label,
            recomputed=quotient(seconds(ratio.over), seconds(ratio.under)),
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
        recomputed_rate=rate(table.rate, cell.size, cell.value) if is_timed else None,
        measured=tuple(with_fields(r, rate=rate(table.rate, cell.size, r.value)) for r in runs),
    )


def rate(kind: Rate, size: int, ms: float | None) -> float | None:
    """The rate of a time at n×n; None if the time is missing or 0, or no rate is wanted."""
    if not ms or kind is Rate.NONE:
        return None
    seconds = ms / MS_PER_S
    return 2e-9 * size**3 / seconds if kind is Rate.GFLOPS else 1e9 * seconds / size**3
