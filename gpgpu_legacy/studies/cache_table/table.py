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
    """A grid for each raster order and layout, then the judgements, and what was not run."""
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
    own = [
        row for row in table.rows if (row.setting.raster, row.setting.layout) == (raster, layout)
    ]
    caches = list(dict.fromkeys(row.setting.cache for row in own))
    by_case = {(row.method, row.block, row.setting.cache): row for row in own}
    rows = []
    for method, block in dict.fromkeys((row.method, row.block) for row in own):
        here = [by_case.get((method, block, cache)) for cache in caches]
        requested = next(row.bytes_requested for row in here if row is not None)
        cells = [_cell(table, row) for row in here]
        rows.append((method, block, _megabytes(requested), *cells))
    caption = (
        f"Products at n = {table.size}, {table.accumulate.value}; raster order {raster}, texture "
        f"layout {layout}."
    )
    notes = (
        "For each cache: megabytes (10⁶ bytes) from memory · hits, % of all accesses · bytes from "
        f"memory per multiply-add. {_WAYS[table.accumulate]} Writes do not allocate, and all of "
        "them also go to memory.",
    )
    heads = ("method", "b", "MB requested", *caches)
    return Grid(f"cache-table-{raster}-{layout}", caption, heads, tuple(rows), notes)


_WAYS = {
    Accumulate.PING_PONG: "Two textures alternate as framebuffer and as F, so the bytes requested "
    "are those of the paper's Table 1.",
    Accumulate.COPY: "The framebuffer is copied to F after each pass, as in listing (5); the "
    "copies are counted here, but not in the paper's Table 1.",
    Accumulate.BLEND: "The framebuffer blends the partial sums, and there is no F.",
}


def _megabytes(count: int) -> Numeral:
    return Numeral(_in_megabytes(count))


def _in_megabytes(count: int) -> str:
    return f"{count / _MB:.4g}" if count < 1e4 * _MB else f"{count / _MB:.0f}"


def _cell(table: CacheTable, row: Row | None) -> Numeral | None:
    if row is None:
        return None
    per_multiply_add = row.bytes_from_memory / table.multiply_adds
    return Numeral(
        f"{_in_megabytes(row.bytes_from_memory)} · {100 * row.access_hit_ratio:.2f} · "
        f"{per_multiply_add:.3g}"
    )


def _judgement_grid(table: CacheTable, judged: Sequence[Judgement]) -> Grid:
    heads = (
        "raster order", "layout", "cache", "method", "fewer bytes at b", "more read hits at b",
        "more reuse at b", "best b", "bytes", "requested", "share of A, B", "more at b",
        "largest / best",
    )  # fmt: skip
    labels = {row.method: row.label for row in find_paper(PAPER).tables[0].rows}
    run = blocks_run(table.rows)
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            judgement.setting.raster,
            judgement.setting.layout,
            judgement.setting.cache,
            labels.get(judgement.method, judgement.method),
            *(blocks_text(judgement.blocks(measure), run) or "none" for measure in Measure),
            judgement.best.block,
            Numeral(f"{judgement.best.bytes_from_memory:.3g}"),
            Numeral(f"{judgement.best.bytes_requested:.3g}"),
            Numeral(f"{judgement.best.operand_share:.3g}"),
            blocks_text(judgement.worse_blocks, run) or "none",
            Numeral(f"{judgement.largest_over_best:.3g}"),
        )
        for judgement in judged
    )
    notes = (
        f"Compared with {BEFORE} in the same setting. Best is the b with the fewest bytes from "
        "memory. The next three columns are ratios at that b: bytes from memory; bytes requested "
        "(the saving without any cache); and the share of the bytes requested of A and B that "
        "comes from memory (the saving by the cache alone). More at b: more bytes from memory than "
        "at the next smaller b.",
        CONVENTIONS,
    )
    return Grid("cache-verdict", "The blocked methods, setting by setting.", heads, rows, notes)


def _not_run_grid(table: CacheTable) -> Grid:
    rows = tuple(
        (
            case.method, case.block, case.cache, case.raster, case.layout, case.reason,
        )
        for case in table.not_run
    )  # fmt: skip
    heads = ("method", "b", "cache", "raster order", "layout", "why")
    budget = table.budget_s
    caption = "Not run." if budget is None else f"Not run, with a budget of {budget:g} s."
    return Grid("not-run", caption, heads, rows)
