"""The command `tiles`: what a tile size takes from memory, by formula and as simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    CACHE_HELP,
    IN_FLIGHT_HELP,
    LAYOUT_HELP,
    QUICK_SIZE,
    RASTER_HELP,
    TILE_HELP,
    Block,
    Json,
    QuickSize,
    Quiet,
    SimulationBudget,
    app,
    progress_bar,
    show,
    time_limit,
)

if TYPE_CHECKING:
    from gpgpu_legacy.cache.access import Access

# Those of studies/tile_size/, which imports NumPy; a test compares them.
TILES = "8 16 32 64 128"
CACHES = "8K,fully,64B 8K,4way,64B"


@dataclass(frozen=True)
class CaseOptions:
    """The product, and what to simulate of it: every tile in every cache."""

    size: QuickSize = None
    block: Block = None
    tile: Annotated[Several[int], Option("T …", f"{TILE_HELP} (default: {TILES}).")] = ()
    cache: Annotated[Several[str], Option("SPEC …", f"{CACHE_HELP[:-1]} (default: {CACHES}).")] = ()


@dataclass(frozen=True)
class OrderOptions:
    """The order of the accesses."""

    raster: Annotated[str, Option("ORDER", RASTER_HELP)] = "scan"
    layout: Annotated[str, Option("LAYOUT", LAYOUT_HELP)] = "linear"
    in_flight: Annotated[int, Option("N", IN_FLIGHT_HELP)] = 1

    def access(self) -> Access:
        """The order and the layout."""
        from gpgpu_legacy.cache.access import Access
        from gpgpu_legacy.cache.layout import parse_layout
        from gpgpu_legacy.cache.raster import parse_raster

        layout, raster = parse_layout(self.layout), parse_raster(self.raster)
        return Access(layout, raster, in_flight=self.in_flight)


@app.command("tiles")
def tiles_command(
    *,
    cases: CaseOptions,
    orders: OrderOptions,
    budget: SimulationBudget = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a product in tiles takes from memory: formulas beside exact simulation.

    The product is that of govindaraju-tiled. Each texel of A and of B is read once for each tile
    along a side, as long as the cache holds a tile's part of B.
    """
    from gpgpu_legacy.cache.caches import parse_cache
    from gpgpu_legacy.studies.tile_size import model
    from gpgpu_legacy.studies.tile_size.table import tile_grids

    tiles = tuple(cases.tile or model.TILES)
    caches = tuple(map(parse_cache, cases.cache or model.CACHES))
    block = model.BLOCK if cases.block is None else cases.block
    size = QUICK_SIZE if cases.size is None else cases.size
    wanted = model.Cases(size, block, tiles, caches, orders.access())
    with (
        time_limit(budget) as limit,
        progress_bar("simulating", len(tiles) * len(caches), quiet=quiet) as step,
    ):
        table = model.tile_table(wanted, limit, progress=step)
    show(table, tile_grids(table), as_json)
