"""The command `cache-table`: the table that Hall, Carr & Hart 2003 does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    BLOCK_HELP,
    CACHE_HELP,
    IN_FLIGHT_HELP,
    LAYOUT_HELP,
    RASTER_HELP,
    Json,
    PaperSize,
    Quiet,
    ResultsFile,
    app,
    draw,
    plot_option,
    progress_bar,
    show,
    time_limit,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.studies.cache_table.model import CacheTable

TABLE_BUDGET_S = 600.0

# Those of studies/cache_table/, which imports NumPy; a test compares them.
CACHES = "2K,4way,64B 8K,4way,64B 8K,fully,64B 16K,4way,64B 32K,2way,128B"
RASTERS = "scan tiled:8x8 tiled:32x32"
LAYOUTS = "linear 8x8"
IN_FLIGHT = "1 16 64 256"


@dataclass(frozen=True)
class CaseOptions:
    """What to simulate: every combination."""

    size: PaperSize = None
    block: Annotated[Several[int], Option("B …", f"{BLOCK_HELP} (default: 1 to 128).")] = ()
    accumulate: Annotated[
        Accumulate | None,
        Option(
            "How the partial sum of the blocked methods gets from pass to pass (default: "
            "ping-pong, which moves Table 1's bytes)."
        ),
    ] = None
    cache: Annotated[Several[str], Option("SPEC …", f"{CACHE_HELP[:-1]} (default: {CACHES}).")] = ()
    raster: Annotated[
        Several[str], Option("ORDER …", f"{RASTER_HELP[:-1]} (default: {RASTERS}).")
    ] = ()
    layout: Annotated[
        Several[str], Option("LAYOUT …", f"{LAYOUT_HELP[:-1]} (default: {LAYOUTS}).")
    ] = ()
    in_flight: Annotated[
        Several[int], Option("N …", f"{IN_FLIGHT_HELP[:-1]} (default: {IN_FLIGHT}).")
    ] = ()


@dataclass(frozen=True)
class RunOptions:
    """How long to simulate, and what is known already."""

    budget: Annotated[float, Option("SECONDS", "Stop after this time; it may take hours.")] = (
        TABLE_BUDGET_S
    )
    workers: Annotated[
        int | None, Option("N", "Simulations at a time (default: one per core).")
    ] = None
    recorded: Annotated[
        Path | None, Option("--from", "JSON", "Show a recorded table; simulate nothing.")
    ] = None
    resume: Annotated[
        Path | None, Option("JSON", "Keep the rows of a recorded table; simulate what it lacks.")
    ] = None


@dataclass(frozen=True)
class TableFiles:
    """How to show the table."""

    output: ResultsFile = None
    plot: Annotated[Path | None, plot_option("Plot the share of A and B from memory over b.")] = (
        None
    )
    as_json: Json = False
    quiet: Quiet = False


@app.command("cache-table")
def cache_table_command(cases: CaseOptions, running: RunOptions, report: TableFiles) -> None:
    """Make the table that Hall, Carr & Hart 2003 does not have: its methods through caches.

    The verdict on "greater cache coherence" (Section 6) follows from the rows. Cases that do not
    fit the budget are listed; the defaults take minutes to hours to simulate.
    """
    from gpgpu_legacy.studies.cache_table import plot, record, verdict
    from gpgpu_legacy.studies.cache_table.table import cache_table_grids

    save = None if report.output is None else partial(record.write_cache_table, report.output)
    table = _table(cases, running, save, quiet=report.quiet)
    if report.output is not None:
        record.write_cache_table(report.output, table)
    show(record.printed_table(table), cache_table_grids(table), report.as_json)
    if not report.as_json:
        for sentence in verdict.verdict(table):
            print(f"• {sentence}")
    draw(table, plot.draw_cache_table, report.plot)


def _table(
    cases: CaseOptions,
    running: RunOptions,
    save: Callable[[CacheTable], None] | None,
    *,
    quiet: bool,
) -> CacheTable:
    """The table that was recorded, or the one that is simulated."""
    from gpgpu_legacy.studies.cache_table import model
    from gpgpu_legacy.studies.cache_table.record import read_cache_table

    if running.recorded is not None:
        if cases != CaseOptions() or running.resume is not None:
            raise InputError("--from shows a recorded table; leave the simulation's options out")
        return read_cache_table(running.recorded)
    settings = model.settings(
        cases.cache or model.CACHES,
        cases.raster or model.RASTERS,
        cases.layout or model.LAYOUTS,
        cases.in_flight or model.IN_FLIGHT,
    )
    products = model.Products(
        model.SIZE if cases.size is None else cases.size,
        tuple(cases.block or model.BLOCKS),
        cases.accumulate or model.ACCUMULATE,
    )
    known = None if running.resume is None else read_cache_table(running.resume)
    with (
        time_limit(running.budget) as budget,
        progress_bar("simulating", len(products.cases(settings)), quiet=quiet) as step,
    ):
        return model.make_table(
            products,
            settings,
            budget,
            known=known,
            workers=running.workers,
            progress=step,
            save=save,
        )
