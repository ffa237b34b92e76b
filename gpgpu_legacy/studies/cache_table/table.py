"""The cache table as text."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.studies.cache_sweep.table import CONVENTIONS
from gpgpu_legacy.studies.cache_table.judgement import Judgement, Measure, judge
from gpgpu_legacy.studies.cache_table.model import BEFORE, CacheTable, Row
from gpgpu_legacy.studies.cache_table.verdict import PAPER, blocks_run, blocks_text

_MB = 1e6


# The table ----------------------------------------------------------------------------------------


def cache_table_grids(table: CacheTable) -> list[Grid]:
    """A grid for each raster order and layout, then what was judged, and what was not run."""
    places = dict.fromkeys((r.setting.raster, r.setting.layout) for r in table.rows)
    grids = [_place_grid(table, *place) for place in places]
    judged = judge(table)
    if judged:
        grids.append(_judgement_grid(table, judged))
    if table.not_run:
        grids.append(_not_run_grid(table))
    return grids


def _place_grid(table: CacheTable, raster: str, layout: str) -> Grid:
    """Methods and blocks down, caches across."""
    found = [
        row for row in table.rows if (row.setting.raster, row.setting.layout) == (raster, layout)
    ]
    caches = list(dict.fromkeys(row.setting.cache for row in found))
    by_case = {(r.method, r.block, r.setting.cache): r for r in found}
    rows = []
    for method, block in dict.fromkeys((row.method, row.block) for row in found):
        here = [by_case.get((method, block, cache)) for cache in caches]
        requested = next(row.bytes_requested for row in here if row is not None)
        cells = [_cell(table, row) for row in here]
        rows.append((method, block, _megabytes(requested), *cells))
    caption = (
        f"Products at n = {table.size}, {table.accumulate.value}; raster order {raster}, texture "
        f"layout {layout}."
    )
    notes = (
        "Of each cache: megabytes (10⁶ bytes) from memory · hits, % of all accesses · bytes from "
        f"memory a multiply-add. {_WAYS[table.accumulate]} Writes do not allocate; all of them go "
        "to memory besides.",
    )
    heads = ("method", "b", "MB requested", *caches)
    return Grid(f"cache-table-{raster}-{layout}", caption, heads, tuple(rows), notes)


_WAYS = {
    Accumulate.PING_PONG: "Two textures take turns as framebuffer and as F, so that the bytes "
    "requested are those of the paper's Table 1.",
    Accumulate.COPY: "The framebuffer is copied to F after each pass, as listing (5) has it; the "
    "copy's bytes are counted here and are not in the paper's Table 1.",
    Accumulate.BLEND: "The framebuffer adds up, and there is no F.",
}


def _megabytes(count: int) -> Numeral:
    return Numeral(_in_megabytes(count))


def _in_megabytes(count: int) -> str:
    return f"{count / _MB:.4g}" if count < 1e4 * _MB else f"{count / _MB:.0f}"


def _cell(table: CacheTable, row: Row | None) -> Numeral | None:
    if row is None:
        return None
    each = row.bytes_from_memory / table.multiply_adds
    return Numeral(
        f"{_in_megabytes(row.bytes_from_memory)} · {100 * row.access_hit_ratio:.2f} · {each:.3g}"
    )


def _judgement_grid(table: CacheTable, judged: Sequence[Judgement]) -> Grid:
    heads = (
        "raster order", "layout", "cache", "method", "fewer bytes at b", "more read hits at b",
        "more reuse at b", "best b", "bytes", "requested", "A and B's share", "more at b",
        "largest / best",
    )  # fmt: skip
    labels = {row.method: row.label for row in find_paper(PAPER).tables[0].rows}
    run = blocks_run(table.rows)
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            each.setting.raster,
            each.setting.layout,
            each.setting.cache,
            labels.get(each.method, each.method),
            *(blocks_text(each.blocks(measure), run) or "none" for measure in Measure),
            each.best.block,
            Numeral(f"{each.best.bytes_from_memory:.3g}"),
            Numeral(f"{each.best.bytes_requested:.3g}"),
            Numeral(f"{each.best.operand_share:.3g}"),
            blocks_text(each.worse_blocks, run) or "none",
            Numeral(f"{each.largest_over_best:.3g}"),
        )
        for each in judged
    )
    notes = (
        f"Against {BEFORE} in the same setting. Best is the b of the fewest bytes from memory. The "
        "next three columns are there, over those of the other: bytes from memory, bytes requested "
        "(what is saved with no cache), and the share of the bytes looked up in A and B that came "
        "from memory (what the cache saves, whatever fewer partial sums and four elements in a "
        "texel save). More at b: than at the next smaller b.",
        CONVENTIONS,
    )
    return Grid("cache-verdict", "The blocked methods, setting by setting.", heads, rows, notes)


def _not_run_grid(table: CacheTable) -> Grid:
    rows = tuple(
        (
            each.method, each.block, each.setting.cache, each.setting.raster,
            each.setting.layout, each.reason,
        )
        for each in table.not_run
    )  # fmt: skip
    heads = ("method", "b", "cache", "raster order", "layout", "why")
    caption = f"Not run, with a budget of {table.budget_s:g} s."
    return Grid("not-run", caption, heads, rows)
