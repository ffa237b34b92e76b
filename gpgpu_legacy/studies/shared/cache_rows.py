"""The table of products through caches: its rows, its verdict, its grids and its heat map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.api.cache import CONVENTIONS, IN_FLIGHT
from gpgpu_legacy.cache.access import MOST_IN_FLIGHT, Access, parse_access
from gpgpu_legacy.cache.caches import parse_cache
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, listed
from gpgpu_legacy.papers.published.papers import find_paper
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, RecordedResult, not_run_grids
from gpgpu_legacy.present.plot import INK, check_count, new_figure, save_figure
from gpgpu_legacy.serial import (
    Limit,
    Line,
    Meta,
    NotNegative,
    OneLine,
    PositiveInt,
    Record,
    Several,
    Size,
    Whole,
    as_record,
    with_fields,
)

PAPER, CLAIM = "hall-carr-hart-2003", "section-6-cache-coherence"

# The default contents of the table.
BEFORE = "larson-mcallister"
BLOCKED = ("hall-carr-hart-single", "hall-carr-hart-multi")

TABLE_SIZE = 1024  # the example of the paper's Section 5.3
BLOCKS = (1, 2, 4, 8, 16, 32, 64, 128)
CACHES = ("2K,4way,64B", "8K,4way,64B", "8K,fully,64B", "16K,4way,64B", "32K,2way,128B")
"""The texture caches of the time are unpublished. Hakura & Gupta 1997 find working sets of up to
16 KB and study 32 KB, 2-way, lines of 128 bytes. The fully associative cache of 8 KB separates
misses for want of capacity from misses for want of ways."""
RASTERS = ("scan", "tiled:8x8", "tiled:32x32")
LAYOUTS = ("linear", "8x8")
FLIGHTS = (1, 16, 64, 256)
"""The numbers in flight: those of the time's chips are unpublished, but were more than one."""

InFlight = Annotated[int, Meta(ge=1, le=MOST_IN_FLIGHT)]


class Setting(Record):
    """A cache, an order of fragments and a texture layout, by their canonical names.

    in_flight: how many fragments are in flight; see `Access`.
    """

    cache: Line
    raster: Line
    layout: Line
    in_flight: InFlight

    @property
    def access(self) -> Access:
        """The raster order, the layout and the fragments in flight."""
        return parse_access(self.layout, self.raster, in_flight=self.in_flight)

    def case_of(self, method: str, block: int | None) -> TableCase:
        """A method in this setting, at a block if it has one."""
        return as_record(TableCase, self, method=method, block=block)

    def __str__(self) -> str:
        """The setting in a few words."""
        return f"{self.cache}, {self.access}"


def settings(
    caches: Sequence[str], rasters: Iterable[str], layouts: Iterable[str], in_flight: Iterable[int]
) -> tuple[Setting, ...]:
    """Every combination of these spellings; those that differ only in the cache are adjacent.

    Raises InputError for unknown spellings, and for a number in flight that Access refuses.
    """
    return tuple(
        dict.fromkeys(
            Setting(
                cache=str(parse_cache(cache)),
                raster=access.raster.name,
                layout=access.layout.name,
                in_flight=access.in_flight,
            )
            for raster, layout, number in product(rasters, layouts, in_flight)
            for access in [parse_access(layout, raster, in_flight=number)]
            for cache in caches
        )
    )


class TableCase(Setting):
    """A method at a block (None if it has none) in a setting."""

    method: Line
    block: Size | None

    @property
    def setting(self) -> Setting:
        """The cache, the raster order, the layout and the fragments in flight."""
        return as_record(Setting, self)

    def __str__(self) -> str:
        """The case in a few words."""
        block = "" if self.block is None else f", b = {self.block}"
        return f"{self.method}{block}: {self.setting}"


class TableRow(TableCase):
    """The accesses of a case, and the bytes that they move.

    accesses, hits: reads and writes together. operand_…: the bytes of A and B alone.
    """

    accesses: PositiveInt
    hits: Whole
    reads: PositiveInt
    read_hits: Whole
    bytes_requested: PositiveInt
    bytes_from_memory: PositiveInt
    bytes_to_memory: Whole
    operand_bytes_requested: PositiveInt
    operand_bytes_from_memory: PositiveInt

    @property
    def case(self) -> TableCase:
        """The case of the row."""
        return as_record(TableCase, self)

    @property
    def operand_share(self) -> float:
        """The bytes of A and B from memory, over those requested of them."""
        return self.operand_bytes_from_memory / self.operand_bytes_requested


class TableNotRun(TableCase):
    """A case without a result, and why."""

    reason: Line


# Which method is better ---------------------------------------------------------------------------


class Measure(Enum):
    """The possible meanings of "greater cache coherence"."""

    FEWER_BYTES = "fewer bytes from memory"
    HIGHER_HIT_RATIO = "a higher hit ratio of reads"
    MORE_REUSE = "more reuse of A and B (a smaller share of their bytes from memory)"

    def of(self, row: TableRow) -> float:
        """The value of a row by this measure; less is better."""
        return {
            Measure.FEWER_BYTES: row.bytes_from_memory,
            Measure.HIGHER_HIT_RATIO: -row.read_hits / row.reads,
            Measure.MORE_REUSE: row.operand_share,
        }[self]


@frozen
class Judgement:
    """A blocked method in a setting, at all its blocks, beside the method before it there.

    by_block: its rows, the smallest block first.
    """

    setting: Setting
    method: str
    before: TableRow
    by_block: dict[int, TableRow]

    @property
    def best(self) -> int:
        """The block with the fewest bytes from memory; of equals the smallest."""
        return min(self.by_block, key=lambda block: self.by_block[block].bytes_from_memory)

    @property
    def shown(self) -> int:
        """The paper's block; if that was not run, the largest."""
        return DEFAULT_BLOCK if DEFAULT_BLOCK in self.by_block else [*self.by_block][-1]

    def sign(self, measure: Measure, block: int) -> int:
        """1 if it is better by a measure than the older method, -1 if worse, else 0."""
        row, before = measure.of(self.by_block[block]), measure.of(self.before)
        return (row < before) - (row > before)

    def shares(self) -> dict[int, float]:
        """By block, the share of A's and B's bytes from memory over the older method's share.

        Below 1 is more reuse.
        """
        before = self.before.operand_share
        return {block: row.operand_share / before for block, row in self.by_block.items()}


# The table ----------------------------------------------------------------------------------------


class CacheTable(RecordedResult, kw_only=True):
    """The table: n×n matrices, complete simulations only. spent_s: seconds in total.

    verdict: of the rows on the paper's claim; () in a table that was not recorded whole.
    """

    WHAT = "a table that `gpgpu-legacy study cache-table --output` recorded"
    HAS_LONG_LISTS = True

    size: Size
    budget_s: Limit | None
    spent_s: NotNegative
    rows: Several[TableRow]
    not_run: Several[TableNotRun]
    verdict: Several[OneLine] = ()

    def judge(self) -> list[Judgement]:
        """Every blocked method in every complete setting."""
        incomplete = {case.setting for case in self.not_run}
        before = {row.setting: row for row in self.rows if row.method == BEFORE}
        blocked: dict[tuple[Setting, str], dict[int, TableRow]] = {}
        for row in self.rows:
            where = row.setting
            if row.block is not None and where in before and where not in incomplete:
                blocked.setdefault((where, row.method), {})[row.block] = row
        return [
            Judgement(where, method, before[where], dict(sorted(rows.items())))
            for (where, method), rows in blocked.items()
        ]

    def judged(self) -> CacheTable:
        """The table with the verdict on its rows."""
        return with_fields(self, verdict=tuple(self._verdict()))

    def _verdict(self) -> Iterator[str]:
        judged = self.judge()
        paper = find_paper(PAPER)
        claim = paper.claim(CLAIM)
        claimed = f"“{claim.quote}” ({paper.short}, {claim.where})"
        if not judged:
            yield f"{claimed}: no setting of cache, order and layout is complete. No verdict."
            return
        numbers = sorted({judgement.setting.in_flight for judgement in judged})
        yield (
            f"{claimed}: compared with {BEFORE} at n = {self.size}, in {len(_settings(judged))} "
            "settings of cache, raster order, layout and fragments in flight "
            f"({listed(numbers)}), of which both methods have the same. “At every b” means better "
            "at one b or more and worse at none."
        )
        for measure in Measure:
            yield in_all(measure, judged)
        if incomplete := {case.setting for case in self.not_run}:
            yield (
                f"{len(self.not_run)} cases were not simulated. The verdict therefore leaves out "
                f"{len(incomplete)} of {len(incomplete | _settings(judged))} settings."
            )

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The rows that decide the verdict, and the verdict below them; whole: every row."""
        judged = self.judge()
        grids = [_row_grid(self)] if self.rows and (whole or not judged) else []
        if judged:
            grids.append(_ratio_grid(self, judged))
        grids += not_run_grids((str(case), case.reason) for case in self.not_run)
        if not grids:
            return []
        *others, last = grids
        conventions = [f"{CONVENTIONS} {IN_FLIGHT.format(units='fragments')}"] * whole
        said = (f"• {sentence}" for sentence in self.verdict)
        return [*others, replace(last, notes=(*last.notes, *conventions, *said))]

    def plot(self, path: Path) -> None:
        """Draw the shares of A and B from memory, as multiples of the older method's: a heat map.

        A row for each raster order, layout and cache, a column for each method and number of
        fragments in flight. Below 1, in blue, the paper's claim holds. Raises InputError if there
        is nothing to draw, or too much to tell apart.
        """
        from matplotlib.colors import LinearSegmentedColormap

        judged = self.judge()
        if not judged:
            raise InputError(
                f"no blocked method has complete rows beside {BEFORE}, so there is nothing to "
                "plot; see the table"
            )
        grid = _ratio_grid(self, judged)
        check_count(len(grid.rows), MOST_ROWS, "settings")
        ratios = np.array([row[_PLACE:] for row in grid.rows], np.float64)
        figure = new_figure(height_inches=_ROW * (len(grid.rows) + 4))
        axes = figure.subplots()
        colours = LinearSegmentedColormap.from_list("ratios", [_FEWER, "white", _MORE])
        axes.imshow(np.log2(ratios), cmap=colours, vmin=-_FULL, vmax=_FULL, aspect="auto")
        for (y, x), ratio in np.ndenumerate(ratios):
            if not np.isnan(ratio):
                axes.text(
                    x, y, f"{ratio:.3g}", fontsize=_SMALL, ha="center", va="center", color=INK
                )
        places = [", ".join(map(str, row[:_PLACE])) for row in grid.rows]
        axes.set_yticks(range(len(places)), places, fontsize=_SMALL)
        axes.set_xticks(range(ratios.shape[1]), grid.heads[_PLACE:], fontsize=_SMALL)
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        held = sum(one.sign(Measure.MORE_REUSE, one.shown) > 0 for one in judged)
        save_figure(
            figure,
            path,
            "Do larger blocks reuse more of A and B?",
            f"Below 1, in blue, the blocked method reuses more than {BEFORE}: in {held} of "
            f"{len(judged)}. Colours are full at a quarter and at four times.",
            grid.caption,
        )


# The verdict --------------------------------------------------------------------------------------


def in_all(measure: Measure, judged: Sequence[Judgement]) -> str:
    """A sentence: in how many settings every blocked method is better by this measure."""
    methods = dict.fromkeys(judgement.method for judgement in judged)

    def where(holds: Callable[[Judgement], bool]) -> str:
        """The number of settings for each number of fragments in flight."""
        every = _settings(judged)
        some = every - _settings(judgement for judgement in judged if not holds(judgement))
        counts, totals = (Counter(setting.in_flight for setting in of) for of in (some, every))
        numbers = sorted(totals)
        of = [totals[number] for number in numbers]
        held = listed(counts[number] for number in numbers)
        return (
            f"{held} of {listed(of if len({*of}) > 1 else of[:1])} settings with "
            f"{listed(numbers)} in flight"
        )

    def everywhere(judgement: Judgement) -> bool:
        signs = {judgement.sign(measure, block) for block in judgement.by_block}
        return 1 in signs and -1 not in signs

    best = where(lambda judgement: judgement.sign(measure, judgement.best) > 0)
    printed = ""
    if all(judgement.shown == DEFAULT_BLOCK for judgement in judged):
        there = where(lambda judgement: judgement.sign(measure, DEFAULT_BLOCK) > 0)
        printed = f"; at b = {DEFAULT_BLOCK}, the paper's choice, in {there}"
    return (
        f"Overall, {' and '.join(methods)} {'have' if len(methods) > 1 else 'has'} {measure.value} "
        f"at every b in {where(everywhere)}; at the b with the fewest bytes in {best}{printed}."
    )


def _settings(judged: Iterable[Judgement]) -> set[Setting]:
    return {judgement.setting for judgement in judged}


# Tables -------------------------------------------------------------------------------------------


def _row_grid(table: CacheTable) -> Grid:
    """Orders, methods and blocks down, caches across."""
    caches = dict.fromkeys(row.cache for row in table.rows)
    by_case: dict[tuple[Any, ...], dict[str, TableRow]] = {}
    for row in table.rows:
        where = (row.raster, row.layout, row.in_flight, row.method, row.block)
        by_case.setdefault((*where, Numeral(_megabytes(row.bytes_requested))), {})[row.cache] = row

    def cell(row: TableRow | None) -> Entry:
        if row is None:
            return None
        from_memory = row.bytes_from_memory
        return Numeral(
            f"{_megabytes(from_memory)} · {100 * row.hits / row.accesses:.2f} · "
            f"{from_memory / table.size**3:.3g}"
        )

    return Grid(
        "cache-table",
        f"Products through caches, at n = {table.size}.",
        ("raster order", "layout", "in flight", "method", "b", "MB requested", *caches),
        tuple((*case, *map(cell, map(known.get, caches))) for case, known in by_case.items()),
        ("For each cache: megabytes (10⁶ bytes) from memory · hits, % of all accesses · bytes from "
         "memory per multiply-add. Two textures alternate as framebuffer and as F, so the bytes "
         "requested are those of the paper's Table 1. Writes do not allocate, and all of them also "
         "go to memory.",),
    )  # fmt: skip


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.4g}" if count < 1e10 else f"{count / 1e6:.0f}"


def _ratio_grid(table: CacheTable, judged: Sequence[Judgement]) -> Grid:
    """Caches and orders down, methods and numbers in flight across, at the paper's b."""
    ratios = {
        (with_fields(one.setting, in_flight=1), one.method, one.setting.in_flight): (
            one.shares()[one.shown]
        )
        for one in judged
    }
    places, methods, numbers = (dict.fromkeys(part) for part in zip(*ratios, strict=True))
    across = list(product(methods, sorted(numbers)))
    rows = tuple(
        (place.raster, place.layout, place.cache, *(ratios.get((place, *at)) for at in across))
        for place in places
    )
    is_printed = all(one.shown == DEFAULT_BLOCK for one in judged)
    choice = "the paper's choice" if is_printed else "or else the largest"
    return Grid(
        "cache-reuse",
        f"Share of A and B from memory over that of {BEFORE}, at n = {table.size} and "
        f"b = {DEFAULT_BLOCK}, {choice}, by method and fragments in flight.",
        ("raster order", "layout", "cache", *(f"{_label(m)}, {n}" for m, n in across)),
        rows,
        ("Below 1 the blocked method is more coherent. Both methods have the same number in "
         "flight.",),
    )  # fmt: skip


_PLACE = 3
"""The number of columns of that grid that name the setting."""


def _label(method: str) -> str:
    """The method as the paper's table names it."""
    labels = {row.method: row.label for row in find_paper(PAPER).tables[0].rows}
    return labels.get(method, method)


# The picture --------------------------------------------------------------------------------------

MOST_ROWS = 60
"""The most settings in a picture: of more, the rows would not fit a screen."""

_SMALL = 9.0  # points
_ROW = 0.22  # inches
_FEWER, _MORE = "#8fb3de", "#f0ab6b"
_FULL = 2.0  # powers of two at which a colour is full
