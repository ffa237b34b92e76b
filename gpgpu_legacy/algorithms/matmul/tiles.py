"""Matrices laid out in textures: cut where they are too large, padded, read along or across.

The fragment methods all read A along a row and B along a column, one step at a time; what differs
is how many elements a texel holds and how many steps a pass makes. That is a Layout. Everything
about coordinates and transposition that the papers say once is said once here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gpgpu_legacy.algorithms.matmul.matrices import product_operands, result_matrix
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.plan.formats import Format
from gpgpu_legacy.plan.plan import (
    ONE_PER_TEXEL,
    Blend,
    ClearPass,
    Extent,
    FragmentPass,
    Input,
    Number,
    NumberVec4,
    Output,
    Packing,
    Plan,
    Rect,
    Region,
    Step,
    Texcoords,
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
    """A texture coordinate set from the papers' order and style to the plan's.

    The papers go clockwise from the upper left and put the row first. Row 0 is the bottom row of
    GL's window, so their upper left is the corner (0, 0), their upper right is (W, 0), and so on:
    the order is the plan's already, and only row and column change places.
    """

    def vector(place: RowColumn) -> NumberVec4:
        row, column = place
        return (column, row, 0.0, 1.0)

    return Texcoords(
        set_index,
        (vector(upper_left), vector(upper_right), vector(lower_right), vector(lower_left)),
    )


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of matrix rows or columns, and the texels that hold it.

    start, length: in elements. texels: with the padding.
    """

    start: int
    length: int
    texels: int


def spans(length: int, largest: int, split: int = 1, multiple: int = 1) -> list[Span]:
    """The stretches of at most `largest` elements that a dimension is cut into.

    split: how many elements of it share a texel. multiple: each stretch is padded to a multiple of
    so many texels.
    """
    found = []
    for start in range(0, length, largest):
        elements = min(largest, length - start)
        texels = -(-elements // (split * multiple)) * multiple
        found.append(Span(start, elements, texels))
    return found


@dataclass(frozen=True, slots=True)
class Layout:
    """How matrices become textures.

    split: 1 for one element a texel; 2 where two rows and two columns share one.
    block: the inner dimension is padded to a multiple of it, in texels.
    packed: which elements share a texel; None for one a texel or, split by 2, for the quadrants.
    """

    split: int
    block: int
    format: Format
    options: Options
    packed: Packing | None = None

    def spans(self, length: int, multiple: int = 1) -> list[Span]:
        """The stretches that a dimension is cut into, each as long as the largest texture allows.

        multiple: each stretch is padded to a multiple of so many texels.
        """
        largest = self.options.largest_texture // multiple * multiple * self.split
        return spans(length, largest, self.split, multiple)

    def packing(self, rows: int, columns: int) -> Packing:
        """Which elements the channels of a texture of that size hold."""
        if self.packed is not None:
            return self.packed
        return ONE_PER_TEXEL if self.split == 1 else quadrants(rows, columns)

    def texture(self, name: str, rows: int, columns: int, *, zero: bool = False) -> Texture:
        """A texture of that many texels; `zero` says that a run finds zeros in it."""
        initial = (0.0, 0.0, 0.0, 0.0) if zero else None
        return Texture(name, TextureKind.RECT, Extent(columns, rows), self.format, initial)

    def operand(
        self, matrix: str, name: str, rows: Span, columns: Span, *, transposed: bool
    ) -> tuple[Texture, Input]:
        """The texture that holds a tile of an operand, and the transfer that fills it.

        rows, columns: of the operand as the product uses it. A transposed operand lies in its
        texture as it was given, its columns up the texture.
        """
        if transposed:
            rows, columns = columns, rows
        texture = self.texture(name, rows.texels, columns.texels)
        region = Region(rows.start, columns.start, rows.length, columns.length)
        packing = self.packing(rows.texels, columns.texels)
        return texture, Input(matrix, region, name, whole(texture), packing)

    def output(self, texture: Texture, rows: Span, columns: Span) -> Output:
        """The transfer that reads a tile of C back from its texture."""
        region = Region(rows.start, columns.start, rows.length, columns.length)
        packing = self.packing(rows.texels, columns.texels)
        return Output("C", region, texture.name, whole(texture), packing)


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of C: the rows and columns of the product that one framebuffer holds."""

    row: int
    column: int
    rows: Span
    columns: Span
    suffix: str


@dataclass(frozen=True, slots=True)
class Cut:
    """The whole product cut to fit textures: the tiles of C, and the stretches of the sum."""

    rows: list[Span]
    sums: list[Span]
    columns: list[Span]

    def tiles(self) -> Iterator[Tile]:
        """The tiles of C, row by row."""
        for i, rows in enumerate(self.rows):
            for j, columns in enumerate(self.columns):
                yield Tile(i, j, rows, columns, self._suffix(i, j))

    def name(self, matrix: str, row: int, column: int) -> str:
        """The texture of a tile of A or B: the matrix's own name where there is just one."""
        return matrix + self._suffix(row, column)

    def _suffix(self, row: int, column: int) -> str:
        whole_product = len(self.rows) == len(self.sums) == len(self.columns) == 1
        return "" if whole_product else f"[{row},{column}]"


def cut(shape: Shape, layout: Layout) -> Cut:
    """Cut a product into what the layout's textures hold."""
    return Cut(layout.spans(shape.m), layout.spans(shape.l, layout.block), layout.spans(shape.n))


def operands(cuts: Cut, layout: Layout) -> tuple[list[Texture], list[Input]]:
    """The textures of A and of B, tile by tile, and the transfers that fill them."""
    made = [
        layout.operand("A", cuts.name("A", i, k), rows, sums, transposed=layout.options.transpose_a)
        for i, rows in enumerate(cuts.rows)
        for k, sums in enumerate(cuts.sums)
    ] + [
        layout.operand(
            "B", cuts.name("B", k, j), sums, columns, transposed=layout.options.transpose_b
        )
        for k, sums in enumerate(cuts.sums)
        for j, columns in enumerate(cuts.columns)
    ]
    return [texture for texture, _ in made], [transfer for _, transfer in made]


def coordinates_of_a(set_index: int, rows: float, step: Number, *, transposed: bool) -> Texcoords:
    """Figure 1's "texA coords": column `step` of A replicated over the rectangle."""
    upper: RowColumn = (step, 0.0) if transposed else (0.0, step)
    lower: RowColumn = (step, rows) if transposed else (rows, step)
    return corners(set_index, upper, upper, lower, lower)


def coordinates_of_b(
    set_index: int, columns: float, step: Number, *, transposed: bool
) -> Texcoords:
    """Figure 1's "texB coords": row `step` of B replicated over the rectangle."""
    left: RowColumn = (0.0, step) if transposed else (step, 0.0)
    right: RowColumn = (columns, step) if transposed else (step, columns)
    return corners(set_index, left, right, right, left)


def step_of_both(options: Options) -> Vec4:
    """What one step of the sum adds to both coordinate pairs: A's (s, t), then B's.

    It moves along A's row and along B's column; across, where the operand is transposed.
    """
    a = (0.0, 1.0) if options.transpose_a else (1.0, 0.0)
    b = (1.0, 0.0) if options.transpose_b else (0.0, 1.0)
    return (*a, *b)


def coordinates_of_c(set_index: int, tile: Tile) -> Texcoords:
    """Each fragment's own texel of a texture as large as the tile."""
    rows, columns = float(tile.rows.texels), float(tile.columns.texels)
    return corners(set_index, (0.0, 0.0), (0.0, columns), (rows, columns), (rows, 0.0))


def whole(texture: Texture) -> Rect:
    """All of a texture."""
    return Rect(0, 0, texture.extent.width, texture.extent.height)


@dataclass(frozen=True, slots=True)
class Given:
    """The operands in their textures, and the transfers that fill them."""

    layout: Layout
    cuts: Cut
    textures: list[Texture]
    inputs: list[Input]


def whole_sums(
    name: str, shape: Shape, given: Given, draw: Callable[[Tile, int, Texture], FragmentPass]
) -> Plan:
    """The plan of a method that makes a tile of C in one pass, with no partial sum.

    draw: the pass that takes stretch k of the sum for a tile, drawn to the tile's texture. Only
    where the inner dimension is too long for one texture is there more than one stretch; the
    framebuffer adds them up.
    """
    layout, cuts = given.layout, given.cuts
    textures = list(given.textures)
    steps: list[Step] = []
    outputs = []
    for tile in cuts.tiles():
        target = layout.texture("C" + tile.suffix, tile.rows.texels, tile.columns.texels)
        passes = [draw(tile, k, target) for k in range(len(cuts.sums))]
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
