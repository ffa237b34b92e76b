"""The memory traffic of a product in tiles behind a cache: formulas beside exact simulation.

The product is that of govindaraju-tiled with two textures that alternate: A, B and C have N×N
texels, a pass takes b steps of the sum, and T×T tiles are drawn one after another, row after row.
The formulas are of a fully associative LRU cache that fills no line on a write, of scan order and
of linear textures. Other caches and orders can be simulated, too, to show where the formulas fail.
A line holds w texels of a row. b, T and N are multiples of w, and N of b, so no two passes or tiles
share a line of A or of B.

A line that is used again is still there if fewer other lines were used in between than the cache
has. So each reuse has two bounds, counted by hand from the order of the accesses: with `always`
lines every such reuse hits, with `never` lines none does. docs/explanation/tiles.md derives them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import lcm
from typing import Annotated

from gpgpu_legacy.algorithms.matmul.govindaraju_tiled import DEFAULT_BLOCK, govindaraju_tiled
from gpgpu_legacy.api.command.frame import Report, answers
from gpgpu_legacy.api.command.words import BLOCK, QUICK_SIZE, SIZE, AccessOptions, AnyTime, Caches
from gpgpu_legacy.cache.access import Access
from gpgpu_legacy.cache.caches import Cache, Memory, Policy, parse_cache
from gpgpu_legacy.cache.simulate import Progress, cache_run, operand_tallies
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.measure.timing import Budget, BudgetSpentError
from gpgpu_legacy.plan.textures import LARGEST_TEXTURE, RGBA32F
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, Result, not_run_grids
from gpgpu_legacy.serial import Record, as_record


@frozen
class Tiles:
    """A product in tiles: N, b, T and w, all in texels."""

    size: int
    block: int
    tile: int
    line: int

    @property
    def across(self) -> int:
        """The number of tiles along each side."""
        return -(-self.size // self.tile)

    def fetches(self, lines: int) -> tuple[tuple[int, int], ...]:
        """The fetches from memory for each texel of A, of B, and of the sums: at least, at most.

        lines: of the cache. The sums are two textures together, of which each pass reads one.
        """
        n, b, t, w, across = self.size, self.block, self.tile, self.line, self.across
        edge = n % t or t  # the side of the smallest tile: the last one may be cut
        passes = n // b
        # Each kind of reuse is (never, always, fetches): it never hits in a cache of `never` lines
        # or fewer, and always in one of `always` or more, with so many fetches of each texel.
        rows_of_a = (
            # from one lookup to the next: B's texel is looked up in between
            (1, 2, n),
            # from one fragment to its neighbour: the rest of a row of A, a column of B, the sum
            (b - w + b // w + 1, b + b // w + 2, across),
            # from one tile to its neighbour: their rows of A and columns of B, and their sums
            (2 * edge * n // w, (2 * n * t + b * t + 4 * t * t) // w, 1),
        )
        columns_of_b = (
            # from one fragment to its neighbour: the other lines of the column, a row of A, the sum
            (b + b // w, b + b // w + 2, n),
            # from one row of the tile to the next: b rows of B, one or two of A, one of each sum
            ((b * edge + b + edge) // w - 1, (b * t + 2 * b + 2 * t) // w, across),
            # from one row of tiles to the next: all of B, and their rows of A and of the sums
            (n * n // w, (n * n + 4 * n * t + 4 * t * t) // w, 1),
        )
        sums = (
            # from one fragment to its neighbour: a row of A and a column of B
            (b + b // w, b + b // w + 2, passes),
            # from one pass to the next: both textures' tiles, and what two passes read of A and B
            (edge * edge // w, (2 * t * t + 4 * b * t) // w, min(passes, 2)),
        )
        return tuple(
            (
                min([first, *(fetches for never, _, fetches in reuses if lines > never)]),
                min([first, *(fetches for _, always, fetches in reuses if lines >= always)]),
            )
            for first, reuses in ((n * w, rows_of_a), (n * w, columns_of_b), (passes * w, sums))
        )


class Traffic(Record):
    """Bytes that come from memory: at least and at most by the formula, and as simulated."""

    least: int
    most: int
    simulated: int

    @property
    def holds(self) -> bool:
        """Whether the simulation is within the formula."""
        return self.least <= self.simulated <= self.most

    def fetches(self, texture_bytes: int) -> tuple[Entry, Entry]:
        """The fetches of each texel from memory: by the formula, perhaps a range, and simulated."""
        least, most, simulated = (
            f"{number / texture_bytes:.4g}" for number in (self.least, self.most, self.simulated)
        )
        return Numeral(least if least == most else f"{least}–{most}"), Numeral(simulated)


class TileRow(Record):
    """A tile size in a cache.

    tile: in texels. across: tiles along each side. a, b: bytes of the operands' textures. sums: of
    the two textures of partial sums. assumed: whether cache and order are those of the formulas.
    """

    cache: str
    tile: int
    across: int
    a: Traffic
    b: Traffic
    sums: Traffic
    assumed: bool

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """The traffic of A, of B and of the sums."""
        return self.a, self.b, self.sums

    @property
    def holds(self) -> bool:
        """Whether all three are within the formulas."""
        return all(one.holds for one in self.traffic)


class TileTable(Result):
    """The rows of one product of n×n matrices, and what was not simulated.

    texels: N, along each side of a texture. not_run: the cases that the budget left out.
    """

    size: int
    block: int
    texels: int
    raster: str
    layout: str
    in_flight: int
    rows: tuple[TileRow, ...]
    not_run: tuple[str, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A row for each cache and tile, and the cases not simulated."""
        order = f"raster order {self.raster}, texture layout {self.layout}"
        if self.in_flight > 1:
            order += f", {self.in_flight} fragments in flight"
        texture_bytes = RGBA32F.texel_bytes * self.texels**2
        grid = Grid(
            "tiles",
            f"govindaraju-tiled, n = {self.size}, b = {self.block}, {order}: how often each of the "
            f"{self.texels}×{self.texels} texels of a matrix comes from memory.",
            ("cache", "T", "tiles", "A by formula", "simulated", "B by formula", "simulated",
             "sums by formula", "simulated", "in all, bytes", "holds"),
            tuple(
                (
                    row.cache,
                    row.tile,
                    f"{row.across}×{row.across}",
                    *(entry for one in row.traffic for entry in one.fetches(texture_bytes)),
                    sum(one.simulated for one in row.traffic),
                    row.holds,
                )
                for row in self.rows
            ),
            tuple(self._notes(whole=whole)),
        )  # fmt: skip
        spent = "the budget was spent before the end"
        return [grid] * bool(self.rows) + not_run_grids((case, spent) for case in self.not_run)

    def _notes(self, *, whole: bool) -> Iterator[str]:
        if whole:
            yield CONVENTIONS
        for assumed, which in (True, "such a cache and order"), (False, "another cache or order"):
            held = [row.holds for row in self.rows if row.assumed is assumed]
            if held:
                yield f"As the formulas say, with {which}: {sum(held)} of {len(held)}."


CONVENTIONS = (
    "The formulas are of fully associative LRU caches, of one fragment after another in scan "
    "order, and of linear textures. A range is between a cache in which no line lasts until "
    "its next use and one in which all do. The sums are two textures, of which each pass reads "
    "one; a cache that holds a tile's part of both reads each once."
)


@frozen
class Cases:
    """The cases to simulate: every tile in every cache.

    size: n, in elements. block, tiles: in texels.
    """

    size: int
    block: int
    tiles: Sequence[int]
    caches: Sequence[Cache]
    access: Access

    @property
    def texels(self) -> int:
        """N: a texel holds elements of two rows and two columns."""
        return self.size // 2

    def check(self) -> None:
        """Raise InputError for sizes without formulas: parts of lines, padding, split textures."""
        as_positive("size", self.size)
        as_positive("block", self.block)
        if self.texels > LARGEST_TEXTURE:
            raise InputError(
                f"the size is {self.size}; the formulas are for matrices that fit a texture, up to "
                f"{2 * LARGEST_TEXTURE}"
            )
        for cache, tile in product(self.caches, self.tiles):
            line = self.line(cache)
            as_positive("tile", tile)
            if self.block % line or tile % line:
                raise InputError(
                    f"a line of {cache.line_bytes} bytes holds {line} texels; the formulas are for "
                    f"blocks and tiles that are multiples of {line}, not for {self.block} and "
                    f"{tile}"
                )
            multiple = 2 * lcm(self.block, line)
            if self.size % multiple:
                raise InputError(
                    f"the size is {self.size}; with a block of {self.block} texels and lines of "
                    f"{line} the formulas are for multiples of {multiple}"
                )

    def line(self, cache: Cache) -> int:
        """Texels in a line of a cache; InputError if a line holds none."""
        if cache.line_bytes < RGBA32F.texel_bytes:
            raise InputError(
                f"a line of {cache.line_bytes} bytes is shorter than a texel of "
                f"{RGBA32F.texel_bytes}; give longer lines"
            )
        return cache.line_bytes // RGBA32F.texel_bytes


def tile_table(cases: Cases, budget: Budget) -> TileTable:
    """Every tile in every cache, within the budget, which is told of each.

    Raises InputError for sizes that have no formulas.
    """
    cases.check()
    rows, not_run = [], []
    for cache, tile in dict.fromkeys(product(cases.caches, cases.tiles)):
        report = budget.until_spent()
        try:
            report(0.0)
            rows.append(_row(cases, cache, tile, report))
        except BudgetSpentError:
            not_run.append(f"T = {tile}, {cache}")
        budget.tell(f"T = {tile}")
    return as_record(
        TileTable,
        cases,
        cases.access,
        raster=cases.access.raster.name,
        layout=cases.access.layout.name,
        rows=tuple(rows),
        not_run=tuple(not_run),
    )


def _row(cases: Cases, cache: Cache, tile: int, report: Progress) -> TileRow:
    """The row of one tile in one cache."""
    plan = govindaraju_tiled.plan(n=cases.size, block=cases.block, tile=tile)
    result = cache_run(plan, Memory((cache,)), cases.access, progress=report)
    tiles = Tiles(cases.texels, cases.block, min(tile, cases.texels), cases.line(cache))
    texture_bytes = plan.texture("A").size_bytes
    a, b = (tally.bytes_from_memory for tally in operand_tallies(plan, result))
    simulated = (a, b, result.bytes_from_memory - a - b)
    traffic = (
        Traffic(least=least * texture_bytes, most=most * texture_bytes, simulated=taken)
        for (least, most), taken in zip(tiles.fetches(cache.lines), simulated, strict=True)
    )
    return TileRow(
        cache=str(cache),
        tile=tile,
        across=tiles.across,
        **dict(zip(("a", "b", "sums"), traffic, strict=True)),
        assumed=cache.sets == 1 and cache.policy is Policy.LRU and cases.access == Access(),
    )


# The command --------------------------------------------------------------------------------------


@answers("study tiles")
def tiles_command(
    *,
    access: AccessOptions,
    size: Annotated[int, SIZE] = QUICK_SIZE,
    block: Annotated[int, BLOCK] = DEFAULT_BLOCK,
    tile: Annotated[
        tuple[int, ...],
        "T",
        "Draw tiles of T×T texels one after another, each through all of its passes.",
    ] = (8, 16, 32, 64, 128),
    cache: Caches = ("8K,fully,64B", "8K,4way,64B"),
    budget: AnyTime = None,
    report: Report,
) -> TileTable:
    """Show the memory traffic of a product in tiles: formulas beside exact simulation.

    The product is that of govindaraju-tiled. Each texel of A and of B is read once for each tile
    along a side, as long as the cache holds a tile's part of B.
    """
    caches, tiles = tuple(dict.fromkeys(map(parse_cache, cache))), tuple(dict.fromkeys(tile))
    cases = Cases(size, block, tiles, caches, access.access())
    with report.work("simulating", len(tiles) * len(caches), budget) as within:
        return tile_table(cases, within)
