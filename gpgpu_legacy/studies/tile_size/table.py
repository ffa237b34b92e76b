"""What a cache takes from memory for a product in tiles, as a table."""

from __future__ import annotations

from collections.abc import Iterable

from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.studies.tile_size.model import TileRow, TileTable, Traffic


def tile_grids(table: TileTable) -> list[Grid]:
    """A row for each cache and tile, and what was not simulated."""
    heads = (
        "cache", "T", "tiles", "A by formula", "simulated", "B by formula", "simulated",
        "sums by formula", "simulated", "in all, bytes", "holds",
    )  # fmt: skip
    order = f"raster order {table.raster}, texture layout {table.layout}"
    if table.in_flight > 1:
        order += f", {table.in_flight} fragments in flight"
    caption = (
        f"govindaraju-tiled, n = {table.size}, b = {table.block}, {order}: how often each of the "
        f"{table.texels}×{table.texels} texels of a matrix comes from memory."
    )
    rows = tuple(_row(row, table.texture_bytes) for row in table.rows)
    grids = [Grid("tiles", caption, heads, rows, tuple(_notes(table)))] if rows else []
    if table.not_run:
        left_out = tuple((case, "the budget was spent before the end") for case in table.not_run)
        grids.append(Grid("not-run", "Not run.", ("what", "why"), left_out))
    return grids


def _row(row: TileRow, texture_bytes: int) -> tuple[Entry, ...]:
    return (
        row.cache,
        row.tile,
        f"{row.across}×{row.across}",
        *_fetches(row.a, texture_bytes),
        *_fetches(row.b, texture_bytes),
        *_fetches(row.sums, texture_bytes),
        row.a.simulated + row.b.simulated + row.sums.simulated,
        row.holds,
    )


def _fetches(traffic: Traffic, texture_bytes: int) -> tuple[Entry, Entry]:
    """What the formula says, which may be a range, and what was simulated."""
    least, most, simulated = (
        f"{number / texture_bytes:.4g}"
        for number in (traffic.least, traffic.most, traffic.simulated)
    )
    return Numeral(least if least == most else f"{least}–{most}"), Numeral(simulated)


def _notes(table: TileTable) -> Iterable[str]:
    yield (
        "The formulas are of fully associative LRU caches, of one fragment after another in scan "
        "order, and of linear textures. A range is between a cache in which no line lasts until "
        "its next use and one in which all do. The sums are two textures, of which each pass reads "
        "one; a cache that holds a tile's part of both reads each once."
    )
    for rows, which in (
        ([row for row in table.rows if row.assumed], "such a cache and order"),
        ([row for row in table.rows if not row.assumed], "another cache or order"),
    ):
        if rows:
            within = sum(row.holds for row in rows)
            yield f"As the formulas say, with {which}: {within} of {len(rows)}."
