"""The study `tiles`: what a tile size takes from memory, by formula and as simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.algorithms.matmul.govindaraju_tiled import DEFAULT_BLOCK
from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    BLOCK_HELP,
    CACHE_HELP,
    IN_FLIGHT_HELP,
    LAYOUT_HELP,
    QUICK_SIZE,
    RASTER_HELP,
    SIZE_HELP,
    SimulationBudget,
)
from gpgpu_legacy.studies.tile_size.formulas import CACHES, TILES

if TYPE_CHECKING:
    from gpgpu_legacy.studies.tile_size.model import TileTable

TILE_HELP = "Draw tiles of T×T texels one after another, each in all of its passes."


@dataclass(frozen=True)
class TileOptions:
    """The product, what to simulate of it, every tile in every cache, and in which order."""

    size: Annotated[int, Option("N", f"{SIZE_HELP}.")] = QUICK_SIZE
    block: Annotated[int, Option("B", f"{BLOCK_HELP}.")] = DEFAULT_BLOCK
    tile: Annotated[Several[int], Option("T,…", TILE_HELP)] = TILES
    cache: Annotated[Several[str], Option("SPEC …", CACHE_HELP)] = CACHES
    raster: Annotated[str, Option("ORDER", RASTER_HELP)] = "scan"
    layout: Annotated[str, Option("LAYOUT", LAYOUT_HELP)] = "linear"
    in_flight: Annotated[int, Option("N", IN_FLIGHT_HELP)] = 1
    budget: SimulationBudget = None


@answers("study tiles")
def tiles_command(options: TileOptions, report: Report) -> TileTable:
    """Show what a product in tiles takes from memory: formulas beside exact simulation.

    The product is that of govindaraju-tiled. Each texel of A and of B is read once for each tile
    along a side, as long as the cache holds a tile's part of B.
    """
    from gpgpu_legacy.cache.access import parse_access
    from gpgpu_legacy.cache.caches import parse_cache
    from gpgpu_legacy.studies.tile_size.model import Cases, tile_table

    caches = tuple(map(parse_cache, options.cache))
    access = parse_access(options.layout, options.raster, in_flight=options.in_flight)
    cases = Cases(options.size, options.block, options.tile, caches, access)
    with (
        report.budget(options.budget) as budget,
        report.progress("simulating", len(options.tile) * len(caches)) as step,
    ):
        return tile_table(cases, budget, progress=step)
