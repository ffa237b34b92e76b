"""What fragment methods share: matrices in textures, tiles, and texture coordinates.

All fragment methods read A along a row and B along a column. They differ in how many elements a
texel holds and in how many iterations of the inner loop a pass unrolls: that is a Layout. Matrices
that are too large for a texture are split into tiles. The coordinates and the handling of
transposed operands, which the methods have in common, are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gpgpu_legacy.algorithms.matmul.matrices import product_operands, result_matrix
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.plan.formats import Format
from gpgpu_legacy.plan.numbers import Number, NumberVec4
from gpgpu_legacy.plan.plan import Blend, ClearPass, FragmentPass, Plan, Step, Texcoords
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Extent,
    Input,
    Output,
    Packing,
    Rect,
    Region,
    Texture,
    TextureKind,
    quadrants,
)

RowColumn = tuple[Number, Number]


def corners(
    set_index: int,
    upper_left: RowColumn,
    upper_right: RowColumn,
    lower_right: RowColumn,
    lower_left: RowColumn,
) -> Texcoords:
    """A texture coordinate set from corners as the papers list them.

    The papers go clockwise from the upper left and put the row first. Row 0 is the bottom row of
    GL's window, so the papers' upper left is the corner (0, 0) of a plan, their upper right is
    (W, 0), and so on. The order is that of plans; only row and column are exchanged.
    """

    def vector(corner: RowColumn) -> NumberVec4:
        row, column = corner
        return (column, row, 0.0, 1.0)

    return Texcoords(
        set_index,
        (vector(upper_left), vector(upper_right), vector(lower_right), vector(lower_left)),
    )


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive rows or columns of a matrix, and the texels that hold them.

    start, length: in elements. texels: their number, padding included.
    """

    start: int
    length: int
    texels: int


def segments(length: int, largest: int, split: int = 1, multiple: int = 1) -> list[Segment]:
    """A dimension of `length` elements, split into segments of at most `largest`.

    split: how many elements share a texel along this dimension. multiple: the texels of a segment
    are padded to a multiple of it.
    """
    result = []
    for start in range(0, length, largest):
        elements = min(largest, length - start)
        texels = -(-elements // (split * multiple)) * multiple
        result.append(Segment(start, elements, texels))
    return result


@dataclass(frozen=True, slots=True)
class Layout:
    """How matrices are stored in textures.

    split: 1 for one element per texel; 2 if a texel holds elements of two rows and two columns.
    block: the inner dimension is padded to a multiple of it, in texels.
    format: of the textures. options: the caller's.
    packed: the packing; None for one element per texel or, if split is 2, for quadrants.
    """

    split: int
    block: int
    format: Format
    options: Options
    packed: Packing | None = None

    def segments(self, length: int, multiple: int = 1) -> list[Segment]:
        """A dimension of `length` elements, split into segments that fit the largest texture.

        multiple: the texels of a segment are padded to a multiple of it.
        """
        largest = self.options.largest_texture // multiple * multiple * self.split
        return segments(length, largest, self.split, multiple)

    def packing(self, rows: int, columns: int) -> Packing:
        """The packing of a texture of that many texels."""
        if self.packed is not None:
            return self.packed
        return ONE_PER_TEXEL if self.split == 1 else quadrants(rows, columns)

    def texture(self, name: str, rows: int, columns: int, *, zero: bool = False) -> Texture:
        """A RECT texture of that many texels. zero: it is filled with 0 before a run."""
        initial = (0.0, 0.0, 0.0, 0.0) if zero else None
        return Texture(name, TextureKind.RECT, Extent(columns, rows), self.format, initial)

    def operand(
        self, matrix: str, name: str, rows: Segment, columns: Segment, *, transposed: bool
    ) -> tuple[Texture, Input]:
        """The texture of a tile of an operand, and the transfer that fills it.

        rows, columns: of the operand as the product uses it. A transposed operand is stored as the
        caller gives it.
        """
        if transposed:
            rows, columns = columns, rows
        texture = self.texture(name, rows.texels, columns.texels)
        region = Region(rows.start, columns.start, rows.length, columns.length)
        packing = self.packing(rows.texels, columns.texels)
        return texture, Input(matrix, region, name, full_rect(texture), packing)

    def output(self, texture: Texture, rows: Segment, columns: Segment) -> Output:
        """The transfer that reads a tile of C back from its texture."""
        region = Region(rows.start, columns.start, rows.length, columns.length)
        packing = self.packing(rows.texels, columns.texels)
        return Output("C", region, texture.name, full_rect(texture), packing)


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of C: the rows and columns that one framebuffer holds.

    row, column: its indices among the tiles. suffix: of the names of its textures.
    """

    row: int
    column: int
    rows: Segment
    columns: Segment
    suffix: str


@dataclass(frozen=True, slots=True)
class Tiling:
    """A product split to fit textures: segments of its rows, inner dimension and columns."""

    rows: list[Segment]
    inner: list[Segment]
    columns: list[Segment]

    def tiles(self) -> Iterator[Tile]:
        """The tiles of C, row by row."""
        for i, rows in enumerate(self.rows):
            for j, columns in enumerate(self.columns):
                yield Tile(i, j, rows, columns, self._suffix(i, j))

    def name(self, matrix: str, row: int, column: int) -> str:
        """The name of the texture of a tile of A or B; the matrix's own name if it is not split."""
        return matrix + self._suffix(row, column)

    def _suffix(self, row: int, column: int) -> str:
        whole_product = len(self.rows) == len(self.inner) == len(self.columns) == 1
        return "" if whole_product else f"[{row},{column}]"


def tile_product(shape: Shape, layout: Layout) -> Tiling:
    """Split a product into tiles that fit the layout's textures."""
    return Tiling(
        layout.segments(shape.m), layout.segments(shape.l, layout.block), layout.segments(shape.n)
    )


def operands(tiling: Tiling, layout: Layout) -> tuple[list[Texture], list[Input]]:
    """The textures of all tiles of A and B, and the transfers that fill them."""
    tiles = [
        layout.operand(
            "A", tiling.name("A", i, k), rows, inner, transposed=layout.options.transpose_a
        )
        for i, rows in enumerate(tiling.rows)
        for k, inner in enumerate(tiling.inner)
    ] + [
        layout.operand(
            "B", tiling.name("B", k, j), inner, columns, transposed=layout.options.transpose_b
        )
        for k, inner in enumerate(tiling.inner)
        for j, columns in enumerate(tiling.columns)
    ]
    return [texture for texture, _ in tiles], [transfer for _, transfer in tiles]


def coordinates_of_a(set_index: int, rows: float, step: Number, *, transposed: bool) -> Texcoords:
    """Figure 1's "texA coords": they replicate column `step` of A over the rectangle.

    rows: of the rectangle, in texels.
    """
    upper: RowColumn = (step, 0.0) if transposed else (0.0, step)
    lower: RowColumn = (step, rows) if transposed else (rows, step)
    return corners(set_index, upper, upper, lower, lower)


def coordinates_of_b(
    set_index: int, columns: float, step: Number, *, transposed: bool
) -> Texcoords:
    """Figure 1's "texB coords": they replicate row `step` of B over the rectangle.

    columns: of the rectangle, in texels.
    """
    left: RowColumn = (0.0, step) if transposed else (step, 0.0)
    right: RowColumn = (columns, step) if transposed else (step, columns)
    return corners(set_index, left, right, right, left)


def coordinate_steps(options: Options) -> Vec4:
    """What an iteration of the inner loop adds to A's (s, t) and to B's (s, t).

    It moves along a row of A and a column of B, or across if the operand is transposed.
    """
    a = (0.0, 1.0) if options.transpose_a else (1.0, 0.0)
    b = (1.0, 0.0) if options.transpose_b else (0.0, 1.0)
    return (*a, *b)


def coordinates_of_c(set_index: int, tile: Tile) -> Texcoords:
    """The coordinates of each fragment's own texel in a texture of the tile's size."""
    rows, columns = float(tile.rows.texels), float(tile.columns.texels)
    return corners(set_index, (0.0, 0.0), (0.0, columns), (rows, columns), (rows, 0.0))


def full_rect(texture: Texture) -> Rect:
    """The rectangle that covers a texture."""
    return Rect(0, 0, texture.extent.width, texture.extent.height)


@dataclass(frozen=True, slots=True)
class OperandTextures:
    """The textures of A and B, and the transfers that fill them."""

    layout: Layout
    tiling: Tiling
    textures: list[Texture]
    inputs: list[Input]


def one_pass_plan(
    name: str,
    shape: Shape,
    given: OperandTextures,
    draw: Callable[[Tile, int, Texture], FragmentPass],
) -> Plan:
    """The plan of a method that computes a tile of C in one pass, without partial sums.

    draw: returns the pass that sums over segment k of the inner dimension and draws a tile to a
    texture. If the inner dimension is too long for one texture, there are several segments, and the
    framebuffer adds them up by blending.
    """
    layout, tiling = given.layout, given.tiling
    textures = list(given.textures)
    steps: list[Step] = []
    outputs = []
    for tile in tiling.tiles():
        target = layout.texture("C" + tile.suffix, tile.rows.texels, tile.columns.texels)
        passes = [draw(tile, k, target) for k in range(len(tiling.inner))]
        if len(passes) > 1:
            steps.append(ClearPass(target.name))
            passes = [replace(pass_, blend=Blend.ADD) for pass_ in passes]
        textures.append(target)
        steps += passes
        outputs.append(layout.output(target, tile.rows, tile.columns))
    return Plan(
        name,
        product_operands(shape, layout.options),
        (result_matrix(shape),),
        tuple(textures),
        tuple(given.inputs),
        tuple(steps),
        tuple(outputs),
    )
