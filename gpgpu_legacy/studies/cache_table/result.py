"""The table itself: what its rows say, shown, drawn, written and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.api.cache import CONVENTIONS, IN_FLIGHT
from gpgpu_legacy.bounded import Limit, NotNegative, OneLine, Several, Size
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.present.result import RecordedResult
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.serial import Record, as_record, with_fields
from gpgpu_legacy.studies.cache_table.defaults import BEFORE
from gpgpu_legacy.studies.cache_table.judgement import Judgement, Measure, judge
from gpgpu_legacy.studies.cache_table.rows import NotRun, Row, Setting
from gpgpu_legacy.studies.cache_table.verdict import (
    CLAIM,
    PAPER,
    blocks_run,
    blocks_text,
    verdict,
)

_MB = 1e6
_DIGITS = 6  # behind the point, of numbers that follow from others


class JudgedSetting(Setting, kw_only=True):
    """A blocked method in a setting, against the method before it.

    bytes_from_memory to operand_share: at its best block, over the other method's. …_at: blocks.
    largest_over_best: bytes from memory at the largest block over those at the best one.
    """

    method: str
    best_block: int
    bytes_from_memory: float
    bytes_requested: float
    operand_bytes_requested: float
    operand_share: float
    read_hit_ratio: float
    read_hit_ratio_before: float
    fewer_bytes_at: tuple[int, ...]
    higher_read_hit_ratio_at: tuple[int, ...]
    more_reuse_at: tuple[int, ...]
    more_bytes_than_next_smaller_at: tuple[int, ...]
    largest_over_best: float


class Verdict(Record):
    """What the rows said about the paper's claim, and the judgements that it sums up."""

    claim: OneLine
    against: OneLine
    sentences: Several[OneLine]
    settings: Several[JudgedSetting] = ()


class CacheTable(RecordedResult, kw_only=True):
    """The table: n×n matrices, complete simulations only. spent_s: seconds in total.

    verdict: None in a table that was not recorded whole.
    """

    WHAT = "a table that `gpgpu-legacy study cache-table --output` recorded"
    HAS_LONG_LISTS = True

    size: Size
    accumulate: Accumulate
    budget_s: Limit | None
    spent_s: NotNegative
    rows: Several[Row]
    not_run: Several[NotRun]
    verdict: Verdict | None = None

    def __repr__(self) -> str:
        return (
            f"<CacheTable of n = {self.size}: {len(self.rows)} rows, {len(self.not_run)} not run>"
        )

    @property
    def multiply_adds(self) -> int:
        """The multiply-adds of each product."""
        return self.size**3

    def judged(self) -> CacheTable:
        """The table with the verdict on its rows."""
        said = Verdict(
            claim=find_paper(PAPER).claim(CLAIM).quote,
            against=BEFORE,
            sentences=tuple(verdict(self)),
            settings=tuple(map(_judged_setting, judge(self))),
        )
        return with_fields(self, verdict=said)

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """What the verdict rests on, and the verdict below it; whole: every row and sentence."""
        judged = judge(self)
        grids = []
        if whole or not judged:
            places = dict.fromkeys(with_fields(row.setting, cache="") for row in self.rows)
            grids += [_place_grid(self, place) for place in places]
        at_printed = _printed_block_grids(self, judged)
        if whole or not at_printed:
            at_printed += [_judgement_grid(self, judged)] if judged else []
        grids += at_printed
        if self.not_run:
            grids.append(_not_run_grid(self))
        if not grids:
            return []
        first, *sentences = verdict(self)
        said = [first, *(sentences if whole else sentences[: len(Measure)])]
        last = grids[-1]
        notes = (*last.notes, *(f"• {sentence}" for sentence in said))
        return [*grids[:-1], replace(last, notes=notes)]

    def plot(self, path: Path) -> None:
        """Draw the share of A and B from memory over b."""
        from gpgpu_legacy.studies.cache_table.plot import draw_cache_table

        draw_cache_table(self, path)


def _judged_setting(judgement: Judgement) -> JudgedSetting:
    best, setting = judgement.best, judgement.setting
    return as_record(
        JudgedSetting,
        judgement,
        setting,
        best_block=best.block,
        bytes_from_memory=round(best.bytes_from_memory, _DIGITS),
        bytes_requested=round(best.bytes_requested, _DIGITS),
        operand_bytes_requested=round(best.operand_bytes_requested, _DIGITS),
        operand_share=round(best.operand_share, _DIGITS),
        read_hit_ratio=round(best.row.read_hit_ratio, _DIGITS),
        read_hit_ratio_before=round(best.before.read_hit_ratio, _DIGITS),
        fewer_bytes_at=judgement.blocks(Measure.FEWER_BYTES),
        higher_read_hit_ratio_at=judgement.blocks(Measure.HIGHER_HIT_RATIO),
        more_reuse_at=judgement.blocks(Measure.MORE_REUSE),
        more_bytes_than_next_smaller_at=judgement.worse_blocks,
        largest_over_best=round(judgement.largest_over_best, _DIGITS),
    )


# Tables -------------------------------------------------------------------------------------------


def _place_grid(table: CacheTable, place: Setting) -> Grid:
    """Methods and blocks down, caches across; place: a setting but for the cache."""
    own = [row for row in table.rows if with_fields(row.setting, cache="") == place]
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
        (
            with_fields(judgement.setting, in_flight=1),
            judgement.method,
            judgement.setting.in_flight,
        ): (Numeral(f"{compared.operand_share:.3g}"))
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
