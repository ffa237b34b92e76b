"""The commands that regenerate tables, and the report."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import paper_names
from gpgpu_legacy.cli.options import Option
from gpgpu_legacy.cli.shared import (
    BLOCK_HELP,
    BUDGET_S,
    PAPER_BLOCK,
    PAPER_SIZE,
    SIZE_HELP,
    PaperSize,
    Quiet,
    app,
    progress_bar,
    time_limit,
    warn_if_busy,
)
from gpgpu_legacy.cli.table_output import TableOutput
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.published import paper_ids

if TYPE_CHECKING:
    from gpgpu_legacy.papers.formulas.record import FormulaTables
    from gpgpu_legacy.papers.measured.record import MeasuredTables
    from gpgpu_legacy.present.grid import Grid
    from gpgpu_legacy.published.papers import Paper

_PAPER = "hall-carr-hart-2003"
_PAPERS = ", ".join(paper_ids())


@dataclass(frozen=True)
class FormulaOptions:
    """Where tables of formulas are evaluated, and what else they count."""

    size: PaperSize = None
    block: Annotated[int | None, Option("B", f"{BLOCK_HELP} (default: {PAPER_BLOCK}).")] = None
    every_method: Annotated[bool, Option("Also count every other method, 2001 to 2018.")] = False

    @property
    def point(self) -> tuple[int, int]:
        """The size n and the block b."""
        return (
            PAPER_SIZE if self.size is None else self.size,
            PAPER_BLOCK if self.block is None else self.block,
        )


@dataclass(frozen=True)
class MeasureOptions:
    """Whether the methods run here, and for how long."""

    measure: Annotated[bool, Option("Run the methods on this machine, and time them.")] = True
    budget: Annotated[float, Option("SECONDS", "Stop measuring after this time.")] = BUDGET_S


@app.command()
def tables(
    *,
    paper: Annotated[
        str | None, Option("NAME", f"One of {_PAPERS} (default: {_PAPER}).", complete=paper_names)
    ] = None,
    at: FormulaOptions,
    here: MeasureOptions,
    plots: Annotated[Path | None, Option("DIR", "Draw the paper's plots into this folder.")] = None,
    to: TableOutput,
    quiet: Quiet = False,
) -> None:
    """Regenerate a paper's tables, beside what is counted and measured here.

    Without --paper, it regenerates Tables 1 and 2 of Hall, Carr & Hart 2003.
    """
    from gpgpu_legacy.published.papers import find_paper

    to.check()
    chosen = find_paper(paper or _PAPER)
    if chosen.tables:
        if plots is not None:
            raise InputError(f"{chosen.id} has no plots; leave --plots out")
        grids, record = _formula_tables(chosen, at, here, quiet=quiet)
        to.write(grids, lambda: record)
        return
    if at.every_method:
        raise InputError(f"{chosen.id} has no table of counts; leave --every-method out")
    if at.size is not None or at.block is not None:
        raise InputError(f"{chosen.id} has sizes of its own; leave --size and --block out")
    grids, measured = _measured_tables(chosen, here, plots, quiet=quiet)
    to.write(grids, lambda: measured)


def _formula_tables(
    paper: Paper, at: FormulaOptions, here: MeasureOptions, *, quiet: bool
) -> tuple[list[Grid], FormulaTables]:
    """A paper's tables of formulas at a size and a block, as grids and as a record."""
    from gpgpu_legacy.papers.formulas import model, record, table, timing

    times = timing.NOTHING_TIMED
    if here.measure:
        with (
            time_limit(here.budget) as budget,
            progress_bar("measuring", timing.count_runs(*at.point), quiet=quiet) as step,
        ):
            times = timing.time_methods(*at.point, budget, progress=step)
        warn_if_busy(times.busy_share)
    tables = model.regenerate(*at.point, paper.id)
    costs = model.every_method(*at.point) if at.every_method else []
    return table.grids(tables, costs, times), record.record_of(tables, costs, times)


def _measured_tables(
    paper: Paper, here: MeasureOptions, plots: Path | None, *, quiet: bool
) -> tuple[list[Grid], MeasuredTables]:
    """A paper's tables of measurements, as grids and as a record; its plots, where asked for."""
    from gpgpu_legacy.papers.measured import model, plot, record, table

    if plots is not None:
        plot.check_plots(paper, plots)
    measurements = None
    if here.measure:
        with (
            time_limit(here.budget),
            progress_bar("measuring", model.count_runs(paper), quiet=quiet) as step,
        ):
            measurements = model.measure_paper(paper, here.budget, progress=step)
        warn_if_busy(measurements.busy_share)
    if plots is not None:
        for path in plot.write_plots(paper, plots, measurements):
            print(f"wrote {path}", file=sys.stderr)
    return table.grids(paper, measurements), record.record_of(paper, measurements)


@app.command()
def report(
    folder: Annotated[Path, Option("-o", "--output", "DIR", "The folder to write.")] = Path(
        "report"
    ),
    size: Annotated[int, Option("N", f"{SIZE_HELP}.")] = PAPER_SIZE,
    block: Annotated[int, Option("B", f"{BLOCK_HELP}.")] = PAPER_BLOCK,
    measure: Annotated[bool, Option("Run the methods on this machine, and time them.")] = True,
    quiet: Quiet = False,
) -> None:
    """Write a folder with the tables, the figures, the timings and a page that shows them all."""
    from gpgpu_legacy.page.report import write_report
    from gpgpu_legacy.papers.formulas.timing import count_runs

    total = count_runs(size, block) if measure else 0
    with progress_bar("measuring", total, quiet=quiet) as step:
        page = write_report(folder, size, block, measure=measure, progress=step)
    print(f"wrote {page}")
