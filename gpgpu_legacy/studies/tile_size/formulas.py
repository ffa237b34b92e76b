"""How often a texel of a product in tiles comes from memory, by formulas.

The product is that of govindaraju-tiled with two textures that alternate: A, B and C have N×N
texels, a pass takes b steps of the sum, and T×T tiles are drawn one after another, row after row.
The cache is fully associative, evicts the least recently used line, and fills none on a write. A
line holds w texels of a row. b, T and N are multiples of w, and N of b, so no two passes or tiles
share a line of A or of B.

A line that is used again is still there if fewer other lines were used in between than the cache
has. So each reuse has two bounds, counted by hand from the order of the accesses: with `always`
lines every such reuse hits, with `never` lines none does. docs/explanation/tiles.md derives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TILES = (8, 16, 32, 64, 128)
CACHES = ("8K,fully,64B", "8K,4way,64B")
"""What is looked at where nobody asks for more."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """A product in tiles: N, b, T and w, all in texels."""

    size: int
    block: int
    tile: int
    line: int

    @property
    def across(self) -> int:
        """How many tiles there are along each side."""
        return -(-self.size // self.tile)

    @property
    def edge(self) -> int:
        """The side of the smallest tile: the last one may be cut."""
        return self.size % self.tile or self.tile

    @property
    def passes(self) -> int:
        """How many passes a tile takes."""
        return self.size // self.block


@dataclass(frozen=True, slots=True)
class Reuse:
    """A reuse of lines, and how often memory is asked for each texel where it hits.

    never, always: in a cache of that many lines or fewer, or more, it misses each time, or hits.
    """

    never: int
    always: int
    fetches: int


@dataclass(frozen=True, slots=True)
class Fetches:
    """How often memory is asked for each texel, at least and at most."""

    least: int
    most: int


def fetches(first: int, reuses: Iterator[Reuse], lines: int) -> Fetches:
    """The fetches of each texel in a cache of that many lines. first: without any reuse."""
    known = list(reuses)
    return Fetches(
        min([first, *(reuse.fetches for reuse in known if lines > reuse.never)]),
        min([first, *(reuse.fetches for reuse in known if lines >= reuse.always)]),
    )


def fetches_of_a(tiles: Tiles, lines: int) -> Fetches:
    """Of A. Its rows are shared by the fragments of a tile's row, and by the tiles of a row."""
    return fetches(tiles.size * tiles.line, _reuses_of_a(tiles), lines)


def _reuses_of_a(tiles: Tiles) -> Iterator[Reuse]:
    n, b, t, w = tiles.size, tiles.block, tiles.tile, tiles.line
    # from one lookup to the next: B's texel is looked up in between
    yield Reuse(1, 2, n)
    # from one fragment to its neighbour: the rest of a row of A, a column of B, the partial sum
    yield Reuse(b - w + b // w + 1, b + b // w + 2, tiles.across)
    # from one tile to its neighbour: their rows of A and columns of B, and their partial sums
    yield Reuse(2 * tiles.edge * n // w, (2 * n * t + b * t + 4 * t * t) // w, 1)


def fetches_of_b(tiles: Tiles, lines: int) -> Fetches:
    """Of B. Its columns are shared by the rows of a tile, and by the tiles of a column."""
    return fetches(tiles.size * tiles.line, _reuses_of_b(tiles), lines)


def _reuses_of_b(tiles: Tiles) -> Iterator[Reuse]:
    n, b, t, w, edge = tiles.size, tiles.block, tiles.tile, tiles.line, tiles.edge
    # from one fragment to its neighbour: the other lines of the column, a row of A, the sum
    yield Reuse(b + b // w, b + b // w + 2, n)
    # from one row of the tile to the next: b rows of B, one or two of A, one of each partial sum
    yield Reuse((b * edge + b + edge) // w - 1, (b * t + 2 * b + 2 * t) // w, tiles.across)
    # from one row of tiles to the next: all of B, and their rows of A and of the sums
    yield Reuse(n * n // w, (n * n + 4 * n * t + 4 * t * t) // w, 1)


def fetches_of_sums(tiles: Tiles, lines: int) -> Fetches:
    """Of the two textures of partial sums together, of which each pass reads one."""
    return fetches(tiles.passes * tiles.line, _reuses_of_sums(tiles), lines)


def _reuses_of_sums(tiles: Tiles) -> Iterator[Reuse]:
    b, t, w, edge = tiles.block, tiles.tile, tiles.line, tiles.edge
    # from one fragment to its neighbour: a row of A and a column of B
    yield Reuse(b + b // w, b + b // w + 2, tiles.passes)
    # from one pass to the next: both textures' tiles, and what two passes read of A and of B
    yield Reuse(edge * edge // w, (2 * t * t + 4 * b * t) // w, min(tiles.passes, 2))
