"""Shared by fragment methods: matrices in textures, tiles, and texture coordinates.

All fragment methods read A along a row and B along a column. They differ in the elements that a
texel holds and in the iterations of the inner loop that a pass unrolls: a Layout says both.
Matrices too large for a texture are split into tiles. The common texture coordinates and the
handling of transposed operands are here, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpgpu_legacy.algorithms.matmul.product import Shape, Stored, add_operands
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
    result = []
    for start in range(0, length, largest):
        elements = min(largest, length - start)
        texels = -(-elements // (split * multiple)) * multiple
        result.append(Segment(start, elements, texels))
    return result


def region(rows: Segment, columns: Segment) -> Region:
    """The elements of a matrix in those rows and columns."""
    return Region(rows.start, columns.start, rows.length, columns.length)


@frozen
class TexelLayout:
    """How matrices are stored in textures.

    split: 1 for one element per texel; 2 if a texel holds elements of two rows and two columns.
    block: the inner dimension is padded to a multiple of it, in texels.
    format: of the textures. stored: how the caller's matrices lie in them.
    packed: the packing; None for one element per texel or, if split is 2, for quadrants.
    """

    split: int
    block: int
    format: Format
    stored: Stored
    packed: Packing | None = None

    def segments(self, length: int, multiple: int = 1) -> list[Segment]:
        """A dimension of `length` elements, split into segments that fit the largest texture.

        multiple: the texels of a segment are padded to a multiple of it.
        """
        largest = self.stored.side // multiple * multiple * self.split
        return segments(length, largest, self.split, multiple)

    def tiling(self, shape: Shape) -> Tiling:
        """A product, split into tiles that fit the textures."""
        inner = self.segments(shape.l, self.block)
        return Tiling(self.segments(shape.m), inner, self.segments(shape.n))

    def packing(self, rows: int, columns: int) -> Packing:
        """The packing of a texture of that many texels."""
        if self.packed is not None:
            return self.packed
        return ONE_PER_TEXEL if self.split == 1 else quadrants(rows, columns)


@frozen
class Tile:
    """A tile of C: the rows and columns that one framebuffer holds.

    row, column: its indices among the tiles. suffix: of the names of its textures.
    """

    row: int
    column: int
    rows: Segment
    columns: Segment
    suffix: str

    def squares(self, side: int | None) -> Iterator[Rect]:
        """The squares of that side, in texels, row by row; at the ends they are cut.

        side: None for one rectangle, the whole tile.
        """
        rows, columns = self.rows.texels, self.columns.texels
        height, width = (rows, columns) if side is None else (side, side)
        for y in range(0, rows, height):
            for x in range(0, columns, width):
                yield Rect(x, y, min(width, columns - x), min(height, rows - y))


@frozen
class Tiling:
    """A product split to fit textures: segments of its rows, inner dimension and columns."""

    rows: list[Segment]
    inner: list[Segment]
    columns: list[Segment]

    def __post_init__(self) -> None:
        """Raises InputError if there would be too many products of tiles."""
        products = len(self.rows) * len(self.inner) * len(self.columns)
        if products > MOST_TILES:
            largest = max(segment.texels for segment in (*self.rows, *self.inner, *self.columns))
            raise _too_many(products, "products of tiles", largest)

    def draws(self, side: int) -> int:
        """The number of squares drawn if each tile is cut into squares of that side, in texels.

        A square is counted for each segment of the inner dimension, and squares may be cut.
        """
        rows, columns = (
            sum(-(-segment.texels // side) for segment in segments)
            for segments in (self.rows, self.columns)
        )
        return rows * columns * len(self.inner)

    def tiles(self) -> Iterator[Tile]:
        """The tiles of C, row by row."""
        for i, rows in enumerate(self.rows):
            for j, columns in enumerate(self.columns):
                yield Tile(i, j, rows, columns, self.suffix(i, j))

    def suffix(self, row: int, column: int) -> str:
        """The suffix of a tile's texture name; empty if no matrix is split."""
        whole_product = len(self.rows) == len(self.inner) == len(self.columns) == 1
        return "" if whole_product else f"[{row},{column}]"


def _too_many(count: int, noun: str, largest: int) -> InputError:
    return InputError(
        f"textures of {largest} texels would split the product into {count} {noun}, and at most "
        f"{MOST_TILES} are planned; multiply smaller matrices, or raise largest_texture"
    )


class TiledProduct(PlanBuilder):
    """The builder of a product in textures: all tiles of A and B are uploaded.

    a, b: the textures of the tiles, by row and column. c: the product.
    """

    warns = False  # a block of one iteration does not use the steps between iterations

    def __init__(
        self, name: str, shape: Shape, layout: TexelLayout, tiling: Tiling | None = None
    ) -> None:
        """The operands and their textures; the method draws."""
        super().__init__(name)
        self.layout, self.stored = layout, layout.stored
        self.tiling = tiling or layout.tiling(shape)
        a, b = add_operands(self, shape, self.stored)
        self.c = self.result("C", shape.m, shape.n)
        suffix = self.tiling.suffix
        self.a = {
            (i, k): self._fill(a, f"A{suffix(i, k)}", rows, inner, self.stored.transpose_a)
            for i, rows in enumerate(self.tiling.rows)
            for k, inner in enumerate(self.tiling.inner)
        }
        self.b = {
            (k, j): self.fill_b(b, f"B{suffix(k, j)}", inner, columns)
            for k, inner in enumerate(self.tiling.inner)
            for j, columns in enumerate(self.tiling.columns)
        }

    def fill_b(self, b: Matrix, name: str, inner: Segment, columns: Segment) -> Texture:
        """The texture of a tile of B, filled."""
        return self._fill(b, name, inner, columns, self.stored.transpose_b)

    def _fill(
        self, matrix: Matrix, name: str, rows: Segment, columns: Segment, transposed: bool
    ) -> Texture:
        """The texture of a tile of an operand, filled.

        rows, columns: of the operand as the product uses it. A transposed operand is stored as the
        caller gives it.
        """
        if transposed:
            rows, columns = columns, rows
        texture = self.texels(name, rows.texels, columns.texels)
        packing = self.layout.packing(rows.texels, columns.texels)
        self.upload(matrix, texture, region=region(rows, columns), packing=packing)
        return texture

    def texels(self, name: str, rows: int, columns: int, initial: float | None = None) -> Texture:
        """A texture of that many texels in the layout's format."""
        return self.texture(name, columns, rows, format=self.layout.format.name, initial=initial)

    def target(self, name: str, tile: Tile, initial: float | None = None) -> Texture:
        """A texture of the tile's size to draw to."""
        return self.texels(name + tile.suffix, tile.rows.texels, tile.columns.texels, initial)

    def factors(self, tile: Tile, k: int) -> dict[int, Texture]:
        """The textures of A and B, by unit, that segment k of the inner dimension multiplies."""
        return {0: self.a[tile.row, k], 1: self.b[k, tile.column]}

    def finish(self, tile: Tile, texture: Texture) -> None:
        """Read a tile of C back from its texture."""
        packing = self.layout.packing(tile.rows.texels, tile.columns.texels)
        self.read_back(texture, self.c, region=region(tile.rows, tile.columns), packing=packing)

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
