"""The fetches of a texel of a product in tiles from memory, by formulas.

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

from dataclasses import dataclass

TILES = (8, 16, 32, 64, 128)
CACHES = ("8K,fully,64B", "8K,4way,64B")
"""The default cases."""


@dataclass(frozen=True, slots=True)
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
        # The fetches of each texel without any reuse, and those where one kind of reuse hits: in a
        # cache of so many lines or fewer it never does, in one of so many or more always.
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
