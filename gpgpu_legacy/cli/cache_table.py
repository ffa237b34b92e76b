"""The study `cache-table`: the table that Hall, Carr & Hart 2003 does not have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    BLOCK_HELP,
    CACHE_HELP,
    IN_FLIGHT_HELP,
    LAYOUT_HELP,
    RASTER_HELP,
    SIZE_HELP,
)
from gpgpu_legacy.studies.cache_table.defaults import (
    BLOCKS,
    CACHES,
    IN_FLIGHT,
    LAYOUTS,
    RASTERS,
    SIZE,
)

if TYPE_CHECKING:
    from gpgpu_legacy.studies.cache_table.result import CacheTable


@dataclass(frozen=True)
class CaseOptions:
    """What to simulate: every combination."""

    size: Annotated[int, Option("N", f"{SIZE_HELP}.")] = SIZE
    block: Annotated[Several[int], Option("B,…", f"{BLOCK_HELP}.")] = BLOCKS
    accumulate: Annotated[
        Accumulate,
        Option(
            "How the partial sum of the blocked methods gets from pass to pass; ping-pong moves "
            "Table 1's bytes."
        ),
    ] = Accumulate.PING_PONG
    cache: Annotated[Several[str], Option("SPEC …", CACHE_HELP)] = CACHES
    raster: Annotated[Several[str], Option("ORDER …", RASTER_HELP)] = RASTERS
    layout: Annotated[Several[str], Option("LAYOUT …", LAYOUT_HELP)] = LAYOUTS
    in_flight: Annotated[Several[int], Option("N,…", IN_FLIGHT_HELP)] = IN_FLIGHT


@dataclass(frozen=True)
class RunOptions:
    """How long to simulate, and what is known already."""

    budget: Annotated[float, Option("SECONDS", "Stop after this time; it may take hours.")] = 600.0
    workers: Annotated[
        int | None, Option("N", "Simulations at a time (default: one per core).")
    ] = None
    resume: Annotated[
        Path | None, Option("JSON", "Keep the rows of a recorded table; simulate what it lacks.")
    ] = None


def _kept() -> type[CacheTable]:
    from gpgpu_legacy.studies.cache_table.result import CacheTable

    return CacheTable


@answers("study cache-table", plot="Plot the share of A and B from memory over b.", kept=_kept)
def cache_table_command(cases: CaseOptions, running: RunOptions, report: Report) -> CacheTable:
    """Make the table that Hall, Carr & Hart 2003 does not have: its methods through caches.

    The verdict on "greater cache coherence" (Section 6) follows from the rows. Cases that do not
    fit the budget are listed; the defaults take minutes to hours to simulate.
    """
    from gpgpu_legacy.serial import read_recorded
    from gpgpu_legacy.studies.cache_table import model

    settings = model.settings(cases.cache, cases.raster, cases.layout, cases.in_flight)
    products = model.Products(cases.size, cases.block, cases.accumulate)
    known = None if running.resume is None else read_recorded(running.resume, _kept())
    with (
        report.budget(running.budget) as budget,
        report.progress("simulating", len(products.cases(settings))) as step,
    ):
        return model.make_table(
            products,
            settings,
            budget,
            known=known,
            workers=running.workers,
            progress=step,
            save=report.save,
        )
