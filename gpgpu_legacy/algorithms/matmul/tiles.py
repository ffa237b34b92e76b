"""Shared by fragment methods: matrices in textures, tiles, and texture coordinates.

All fragment methods read A along a row and B along a column. They differ in the elements that a
texel holds and in the iterations of the inner loop that a pass unrolls. Matrices too large for a
texture are split into tiles. The common texture coordinates and the handling of transposed operands
are here, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from gpgpu_legacy.algorithms.matmul.product import LARGEST_SIZE, Shape, Stored, add_operands
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.program import Vec4
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.loops import LoopExpression
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Format,
    Matrix,
    Packing,
    Rect,
    Region,
    Texture,
    quadrants,
)

MOST_TILES = 4096
"""The most products of a tile of A with a tile of B: that many take seconds to plan, and suffice
for 131 072² matrices in textures of 8192² texels.
"""

Corners = tuple[tuple[float | LoopExpression, ...], ...]
"""Texture coordinates at the corners (0, 0), (W, 0), (W, H) and (0, H) of a rectangle."""


@frozen
class Segment:
    """Consecutive rows or columns of a matrix, and the texels that hold them.

    start, length: in elements. texels: their number, padding included.
    """

    start: int
    length: int
    texels: int


def segments(length: int, largest: int, split: int = 1, multiple: int = 1) -> list[Segment]:
    """A dimension of `length` elements, split into segments of at most `largest`.

    split: the elements that share a texel along this dimension. multiple: the texels of a segment
    are padded to a multiple of it.
    """
    if -(-length // largest) > MOST_TILES:
        raise _too_many(-(-length // largest), "segments", largest)
    lengths = ((start, min(largest, length - start)) for start in range(0, length, largest))
    return [Segment(start, n, -(-n // (split * multiple)) * multiple) for start, n in lengths]


@frozen
class Tile:
    """A tile of a matrix, in one texture: its rows and columns, and their numbers."""

    row: int
    column: int
    rows: Segment
    columns: Segment

    @property
    def region(self) -> Region:
        """The elements of the tile."""
        rows, columns = self.rows, self.columns
        return Region(rows.start, columns.start, rows.length, columns.length)

    def squares(self, side: int | None) -> Iterator[Rect]:
        """The squares of that side, in texels, row by row; at the ends they are cut.

        side: None for one rectangle, the whole tile.
        """
        rows, columns = self.rows.texels, self.columns.texels
        height, width = (rows, columns) if side is None else (side, side)
        for y in range(0, rows, height):
            for x in range(0, columns, width):
                yield Rect(x, y, min(width, columns - x), min(height, rows - y))


def _tiles(rows: list[Segment], columns: list[Segment]) -> list[Tile]:
    """The tiles of a matrix, row by row."""
    return [Tile(i, j, r, c) for i, r in enumerate(rows) for j, c in enumerate(columns)]


def _too_many(count: int, noun: str, largest: int) -> InputError:
    return InputError(
        f"textures of {largest} texels would split the product into {count} {noun}, and at most "
        f"{MOST_TILES} are planned; multiply smaller matrices, or raise largest_texture"
    )


class TiledProduct(PlanBuilder):
    """The builder of a product in textures: all tiles of A and B are uploaded.

    inner: the segments of the inner dimension. tiles: those of C. a, b: the textures of A's tiles
    and of B's, by row and column. c: the product.
    """

    warns = False  # a block of one iteration does not use the steps between iterations

    def __init__(
        self,
        name: str,
        shape: Shape,
        stored: Stored,
        texels: Format,
        *,
        split: int = 1,
        block: int = 1,
        packing: Packing | None = None,
        unrolled: int = LARGEST_SIZE,
        sides: tuple[list[Segment], ...] = (),
    ) -> None:
        """Make the operands and their textures; the method draws.

        split: 1 for one element per texel; 2 if a texel holds elements of two rows and two columns.
        block: the inner dimension is padded to a multiple of it, in texels. packing: None for one
        element per texel or, if split is 2, for quadrants. unrolled: the most texels of a segment
        of the inner dimension. sides: the segments of m, l and n, if they are not as long as fit a
        texture. Raises InputError for too many products of tiles.
        """
        super().__init__(name)
        self.stored, self.texels, self.packing = stored, texels, packing
        self.split, self.block = split, block
        most = stored.side * split
        rows, self.inner, columns = sides or (
            segments(shape.m, most, split),
            segments(shape.l, min(stored.side // block * block, unrolled) * split, split, block),
            segments(shape.n, most, split),
        )
        products = len(rows) * len(self.inner) * len(columns)
        if products > MOST_TILES:
            largest = max(segment.texels for segment in chain(rows, self.inner, columns))
            raise _too_many(products, "products of tiles", largest)
        self.is_whole = products == 1
        a, b = add_operands(self, shape, stored)
        self.c, self.tiles = self.result("C", shape.m, shape.n), _tiles(rows, columns)
        self.a = self._filled(a, _tiles(rows, self.inner), stored.transpose_a)
        self.b = self._filled(b, _tiles(self.inner, columns), stored.transpose_b)

    def _filled(
        self, matrix: Matrix, tiles: list[Tile], transposed: bool
    ) -> dict[tuple[int, int], Texture]:
        return {(tile.row, tile.column): self.fill(matrix, tile, transposed) for tile in tiles}

    def fill(self, matrix: Matrix, tile: Tile, transposed: bool) -> Texture:
        """The texture of a tile of an operand, filled.

        tile: of the operand as the product uses it. A transposed operand is stored as the caller
        gives it.
        """
        if transposed:
            tile = replace(tile, rows=tile.columns, columns=tile.rows)
        texture = self.target(matrix.name, tile)
        self.upload(matrix, texture, region=tile.region, packing=self._packing(tile))
        return texture

    def _packing(self, tile: Tile) -> Packing:
        if self.packing is not None:
            return self.packing
        rows, columns = tile.rows.texels, tile.columns.texels
        return ONE_PER_TEXEL if self.split == 1 else quadrants(rows, columns)

    def target(self, name: str, tile: Tile, initial: float | None = None) -> Texture:
        """A texture of the tile's size, named after the matrix and, if there are more, the tile."""
        name += "" if self.is_whole else f"[{tile.row},{tile.column}]"
        rows, columns = tile.rows.texels, tile.columns.texels
        return self.texture(name, columns, rows, format=self.texels.name, initial=initial)

    def factors(self, tile: Tile, k: int) -> dict[int, Texture]:
        """The textures of A and B, by unit, that segment k of the inner dimension multiplies."""
        return {0: self.a[tile.row, k], 1: self.b[k, tile.column]}

    def finish(self, tile: Tile, texture: Texture) -> None:
        """Read a tile of C back from its texture."""
        self.read_back(texture, self.c, region=tile.region, packing=self._packing(tile))

    def coordinates(
        self,
        rows: float,
        columns: float,
        step: float | LoopExpression,
        first_row: float = 0.0,
        first_column: float = 0.0,
    ) -> dict[int, Corners]:
        """Figure 1's "texA coords" and "texB coords", by unit.

        They replicate column `step` of A and row `step` of B over a rectangle of that size, in
        texels. Row 0 is the bottom row of GL's window, so that the paper's upper left is the corner
        (0, 0) of a plan.
        """
        lower, upper = (step, first_row), (step, first_row + rows)
        left, right = (first_column, step), (first_column + columns, step)
        return {
            0: _turned((lower, lower, upper, upper), self.stored.transpose_a),
            1: _turned((left, right, right, left), self.stored.transpose_b),
        }

    @property
    def coordinate_steps(self) -> Vec4:
        """The step of an iteration of the inner loop in A's (s, t) and in B's (s, t).

        It moves along a row of A and a column of B, or across if the operand is transposed.
        """
        a = (0.0, 1.0) if self.stored.transpose_a else (1.0, 0.0)
        b = (1.0, 0.0) if self.stored.transpose_b else (0.0, 1.0)
        return (*a, *b)


def _turned(corners: Corners, is_transposed: bool) -> Corners:
    """Coordinates of a matrix that may be stored transposed."""
    return tuple(corner[::-1] for corner in corners) if is_transposed else corners
