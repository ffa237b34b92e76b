"""The cache table as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.api.cache import CONVENTIONS, IN_FLIGHT
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.studies.cache_table.judgement import Judgement, Measure, judge
from gpgpu_legacy.studies.cache_table.model import BEFORE, CacheTable, Row, Setting
from gpgpu_legacy.studies.cache_table.verdict import PAPER, blocks_run, blocks_text

_MB = 1e6


# The table ----------------------------------------------------------------------------------------


def cache_table_grids(table: CacheTable) -> list[Grid]:
    """A grid for each raster order, layout and number in flight; judgements; what was not run."""
    places = dict.fromkeys(replace(row.setting, cache="") for row in table.rows)
    grids = [_place_grid(table, place) for place in places]
    judged = judge(table)
    if judged:
        grids += [*_printed_block_grids(table, judged), _judgement_grid(table, judged)]
    if table.not_run:
        grids.append(_not_run_grid(table))
    return grids


def _place_grid(table: CacheTable, place: Setting) -> Grid:
    """Methods and blocks down, caches across; place: a setting but for the cache."""
    own = [row for row in table.rows if replace(row.setting, cache="") == place]
    caches = list(dict.fromkeys(row.setting.cache for row in own))
    by_case = {(row.method, row.block, row.setting.cache): row for row in own}
    rows = []
    for method, block in dict.fromkeys((row.method, row.block) for row in own):
        here = [by_case.get((method, block, cache)) for cache in caches]
        requested = next(row.bytes_requested for row in here if row is not None)
        cells = [_cell(table, row) for row in here]
        rows.append((method, block, Numeral(_in_megabytes(requested)), *cells))
    caption = (
        f"Products at n = {table.size}, {table.accumulate.value}; raster order {place.raster}, "
        f"texture layout {place.layout}, {place.in_flight} in flight."
    )
    notes = (
        "For each cache: megabytes (10⁶ bytes) from memory · hits, % of all accesses · bytes from "
        f"memory per multiply-add. {_WAYS[table.accumulate]} Writes do not allocate, and all of "
        "them also go to memory.",
    )
    heads = ("method", "b", "MB requested", *caches)
    name = f"cache-table-{place.raster}-{place.layout}-{place.in_flight}"
    return Grid(name, caption, heads, tuple(rows), notes)


_WAYS = {
    Accumulate.PING_PONG: "Two textures alternate as framebuffer and as F, so the bytes requested "
    "are those of the paper's Table 1.",
    Accumulate.COPY: "The framebuffer is copied to F after each pass, as in listing (5); the "
    "copies are counted here, but not in the paper's Table 1.",
    Accumulate.BLEND: "The framebuffer blends the partial sums, and there is no F.",
}


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


def _printed_block_grids(table: CacheTable, judged: Sequence[Judgement]) -> list[Grid]:
    """Caches and orders down, methods and numbers in flight across, at the paper's b."""
    ratios = {
        (replace(judgement.setting, in_flight=1), judgement.method, judgement.setting.in_flight): (
            Numeral(f"{compared.operand_share:.3g}")
        )
        for judgement in judged
        if (compared := judgement.at(DEFAULT_BLOCK))
    }
    if not ratios:
        return []
    places, methods, numbers = (dict.fromkeys(part) for part in zip(*ratios, strict=True))
    across = list(product(methods, sorted(numbers)))
    heads = ("raster order", "layout", "cache", *(f"{_label(m)}, {n}" for m, n in across))
    rows = tuple(
        (place.raster, place.layout, place.cache, *(ratios.get((place, *at)) for at in across))
        for place in places
    )
    caption = (
        f"Share of A and B from memory over that of {BEFORE}, at n = {table.size} and "
        f"b = {DEFAULT_BLOCK}, the paper's choice, by method and fragments in flight."
    )
    notes = (
        "Below 1 the blocked method is more coherent. Both methods have the same number in flight.",
    )
    return [Grid("cache-reuse", caption, heads, rows, notes)]


def _label(method: str) -> str:
    """The method as the paper's table names it."""
    labels = {row.method: row.label for row in find_paper(PAPER).tables[0].rows}
    return labels.get(method, method)


def _judgement_grid(table: CacheTable, judged: Sequence[Judgement]) -> Grid:
    heads = (
        "raster order", "layout", "cache", "in flight", "method", "fewer bytes at b",
        "more read hits at b", "more reuse at b", "best b", "bytes", "requested", "share of A, B",
        "more at b", "largest / best",
    )  # fmt: skip
    run = blocks_run(table.rows)
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            judgement.setting.raster,
            judgement.setting.layout,
            judgement.setting.cache,
            judgement.setting.in_flight,
            _label(judgement.method),
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
        f"{CONVENTIONS} {IN_FLIGHT.format(units='fragments')}",
    )
    return Grid("cache-verdict", "The blocked methods, setting by setting.", heads, rows, notes)


def _not_run_grid(table: CacheTable) -> Grid:
    rows = tuple(
        (
            case.method, case.block, case.cache, case.raster, case.layout, case.in_flight,
            case.reason,
        )
        for case in table.not_run
    )  # fmt: skip
    heads = ("method", "b", "cache", "raster order", "layout", "in flight", "why")
    budget = table.budget_s
    caption = "Not run." if budget is None else f"Not run, with a budget of {budget:g} s."
    return Grid("not-run", caption, heads, rows)
