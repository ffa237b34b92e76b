"""The commands that regenerate tables, and the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpgpu_legacy.cli.shared import (
    Json,
    OutputFile,
    Quiet,
    TableFormat,
    TablesAs,
    app,
    console,
    progress_bar,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.published import paper_ids

if TYPE_CHECKING:
    from gpgpu_legacy.present.grid import Grid
    from gpgpu_legacy.published.papers import Paper


TABLE_SIZE, TABLE_BLOCK = 1024, 32  # what the paper's Section 5.3 works out


BUDGET_S = 60.0


_PAPER = "hall-carr-hart-2003"


_PAPERS = ", ".join(paper_ids())


@app.command()
def tables(
    paper: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"One of {_PAPERS} (default: {_PAPER}).")
    ] = None,
    size: Annotated[
        int | None, typer.Option(help=f"n, for n×n matrices (default: {TABLE_SIZE}).")
    ] = None,
    block: Annotated[
        int | None, typer.Option(help=f"The paper's b (default: {TABLE_BLOCK}).")
    ] = None,
    every_method: Annotated[
        bool, typer.Option("--every-method", help="Count every method there is, 2001 to 2018.")
    ] = False,
    measure: Annotated[bool, typer.Option(help="Run the methods here, and time them.")] = True,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="What a table of timings may take here.")
    ] = BUDGET_S,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the paper's plots there.")
    ] = None,
    table_format: TablesAs = TableFormat.TEXT,
    output: OutputFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Regenerate a paper's tables, beside what is counted and measured here.

    Without --paper, Tables 1 and 2 of Hall, Carr & Hart 2003.
    """
    from gpgpu_legacy.files import check_folder, write_text
    from gpgpu_legacy.papers.formulas import model as formulas
    from gpgpu_legacy.papers.formulas import table as formulas_table
    from gpgpu_legacy.present import grid
    from gpgpu_legacy.published.papers import find_paper

    if output is not None:
        check_folder(output)
    chosen = find_paper(paper or _PAPER)
    if every_method and not chosen.tables:
        raise InputError(f"{chosen.id} has no table of counts; leave --every-method out")
    if chosen.measured:
        if not chosen.tables and (size is not None or block is not None):
            raise InputError(f"{chosen.id} has sizes of its own; leave --size and --block out")
        grids, data = _measured_tables(chosen, measure, budget, plots, quiet)
    else:
        if plots is not None:
            raise InputError(f"{chosen.id} has no plots; leave --plots out")
        grids, data = [], {}
    if chosen.tables:
        n, b = TABLE_SIZE if size is None else size, TABLE_BLOCK if block is None else block
        total = formulas.measurements(n, b) if measure else 0
        with progress_bar("measuring", total, quiet=quiet) as step:
            measured = formulas.measure(n, b, progress=step) if measure else []
            made = formulas.regenerate(n, b, measured, chosen.id)
            costs = formulas.every_method(n, b) if every_method else []
        grids = [*formulas_table.grids(made, costs), *grids]
        data = {**formulas.tables_as_json(made, costs), **data}
    kind = TableFormat.JSON if as_json else table_format
    if kind is TableFormat.TEXT and output is None:
        grid.print_text(grids, console())
        return
    writers: dict[TableFormat, Callable[[], str]] = {
        TableFormat.TEXT: lambda: grid.as_text(grids),
        TableFormat.MARKDOWN: lambda: grid.as_markdown(grids),
        TableFormat.CSV: lambda: grid.as_csv(grids),
        TableFormat.LATEX: lambda: grid.as_latex(grids),
        TableFormat.JSON: lambda: json.dumps(data, indent=2) + "\n",
    }
    text = writers[kind]()
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)


def _measured_tables(
    paper: Paper, measure: bool, budget: float, plots: Path | None, quiet: bool
) -> tuple[list[Grid], dict[str, Any]]:
    """A paper's tables of timings as grids and as JSON; its plots, where they are asked for."""
    from gpgpu_legacy.papers.measured import model as measured
    from gpgpu_legacy.papers.measured.table import grids, measured_as_json

    if plots is not None:
        from gpgpu_legacy.papers.measured.plot import check_plots, write_plots

        check_plots(paper, plots)
    found = None
    if measure:
        with progress_bar("measuring", measured.count_runs(paper), quiet=quiet) as step:
            found = measured.measure_paper(paper, budget, progress=step)
    if plots is not None:
        for path in write_plots(paper, plots, found):
            print(f"wrote {path}", file=sys.stderr)
    return grids(paper, found), measured_as_json(paper, found)


@app.command()
def report(
    folder: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write.")
    ] = Path("report"),
    size: Annotated[int, typer.Option(help="n, for n×n matrices.")] = TABLE_SIZE,
    block: Annotated[int, typer.Option(help="The paper's b.")] = TABLE_BLOCK,
    measure: Annotated[bool, typer.Option(help="Run the methods here, and time them.")] = True,
    quiet: Quiet = False,
) -> None:
    """Write a folder with the tables, the figures, the timings and a page that shows them all."""
    from gpgpu_legacy.page.page import write_report
    from gpgpu_legacy.papers.formulas.model import measurements

    total = measurements(size, block) if measure else 0
    with progress_bar("measuring", total, quiet=quiet) as step:
        page = write_report(folder, size, block, measure=measure, progress=step)
    print(f"wrote {page}")
