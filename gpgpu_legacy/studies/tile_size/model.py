"""The memory traffic of a product in tiles behind a cache: formulas beside exact simulation.

The formulas are of a fully associative LRU cache, scan order and linear textures. Any other cache
or order can be simulated, too, and shows where they fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import lcm

from gpgpu_legacy.algorithms.matmul.govindaraju_tiled import ALGORITHM
from gpgpu_legacy.cache.access import Access
from gpgpu_legacy.cache.caches import Cache, Memory, Policy
from gpgpu_legacy.cache.run import cache_run, operand_tallies
from gpgpu_legacy.cache.simulate import Progress
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.measure.timing import Budget, BudgetSpentError
from gpgpu_legacy.plan.textures import LARGEST_TEXTURE, RGBA32F
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, Result, not_run_grids
from gpgpu_legacy.serial import Record, as_record
from gpgpu_legacy.studies.tile_size.formulas import Tiles


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
        """All three."""
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
        heads = (
            "cache", "T", "tiles", "A by formula", "simulated", "B by formula", "simulated",
            "sums by formula", "simulated", "in all, bytes", "holds",
        )  # fmt: skip
        order = f"raster order {self.raster}, texture layout {self.layout}"
        if self.in_flight > 1:
            order += f", {self.in_flight} fragments in flight"
        caption = (
            f"govindaraju-tiled, n = {self.size}, b = {self.block}, {order}: how often each of the "
            f"{self.texels}×{self.texels} texels of a matrix comes from memory."
        )
        texture_bytes = RGBA32F.texel_bytes * self.texels**2
        rows = tuple(
            (
                row.cache,
                row.tile,
                f"{row.across}×{row.across}",
                *(entry for one in row.traffic for entry in one.fetches(texture_bytes)),
                sum(one.simulated for one in row.traffic),
                row.holds,
            )
            for row in self.rows
        )
        grids = not_run_grids(
            (case, "the budget was spent before the end") for case in self.not_run
        )
        if rows:
            notes = tuple(self._notes(whole=whole))
            grids.insert(0, Grid("tiles", caption, heads, rows, notes))
        return grids

    def _notes(self, *, whole: bool) -> Iterator[str]:
        if whole:
            yield CONVENTIONS
        for rows, which in (
            ([row for row in self.rows if row.assumed], "such a cache and order"),
            ([row for row in self.rows if not row.assumed], "another cache or order"),
        ):
            if rows:
                within = sum(row.holds for row in rows)
                yield f"As the formulas say, with {which}: {within} of {len(rows)}."


CONVENTIONS = (
    "The formulas are of fully associative LRU caches, of one fragment after another in scan "
    "order, and of linear textures. A range is between a cache in which no line lasts until "
    "its next use and one in which all do. The sums are two textures, of which each pass reads "
    "one; a cache that holds a tile's part of both reads each once."
)


@dataclass(frozen=True, slots=True)
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
        """InputError for sizes that the formulas do not cover: parts of lines, padding, splits."""
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


def tile_table(
    cases: Cases, budget: Budget, *, progress: Callable[[str], object] = lambda _: None
) -> TileTable:
    """Every tile in every cache, within the budget.

    progress: called after each case. Raises InputError for sizes that have no formulas.
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
        progress(f"T = {tile}")
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
    """One case."""
    plan = ALGORITHM.plan(n=cases.size, block=cases.block, tile=tile)
    result = cache_run(plan, Memory((cache,)), cases.access, progress=report)
    tiles = Tiles(cases.texels, cases.block, min(tile, cases.texels), cases.line(cache))
    texture_bytes = plan.texture("A").size_bytes
    a, b = (tally.bytes_from_memory for tally in operand_tallies(plan, result))
    simulated = (a, b, result.bytes_from_memory - a - b)
    of_a, of_b, of_sums = (
        Traffic(least=least * texture_bytes, most=most * texture_bytes, simulated=taken)
        for (least, most), taken in zip(tiles.fetches(cache.lines), simulated, strict=True)
    )
    return TileRow(
        cache=str(cache),
        tile=tile,
        across=tiles.across,
        a=of_a,
        b=of_b,
        sums=of_sums,
        assumed=cache.sets == 1 and cache.policy is Policy.LRU and cases.access == Access(),
    )
