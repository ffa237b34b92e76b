"""The row-packed product of the WebGL library weblas (2015): the whole sum in one pass.

An RGBA texel holds four consecutive elements of a row, and B is stored transposed, so both operands
are read along rows. A fragment computes four consecutive elements of a row of C: an iteration looks
up one texel of A and one of each of four columns of B, and takes four dot products. The original
shader loops over the inner dimension. ARB_fragment_program has no loops, so it is unrolled here.
"""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import (
    Layout,
    OperandTextures,
    Segment,
    Tile,
    Tiling,
    coordinates_of_a,
    full_rect,
    one_pass_plan,
    segments,
)
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan, Texcoords
from gpgpu_legacy.plan.textures import Input, Packing, Region, Texture

PER_TEXEL = 4  # elements of a row per texel
ROW = Packing(tuple((0, column) for column in range(PER_TEXEL)), column_step=PER_TEXEL)


def _build(shape: Shape, options: Options) -> Plan:
    layout = Layout(1, 1, RGBA32F, options, ROW)
    tiling = _cut(shape, options.largest_texture)

    def draw(tile: Tile, k: int, target: Texture) -> FragmentPass:
        return FragmentPass(
            load_program("descendants/row_packed.fp.j2", block=tiling.inner[k].texels),
            (
                Binding(0, tiling.name("A", tile.row, k)),
                Binding(1, tiling.name("B", k, tile.column)),
            ),
            (target.name,),
            full_rect(target),
            (
                coordinates_of_a(0, float(tile.rows.texels), 0.5, transposed=False),
                _rows_of_transposed_b(1, tile.columns.texels),
            ),
        )

    return one_pass_plan(
        METHOD.name, shape, OperandTextures(layout, tiling, *_operands(tiling, layout)), draw
    )


def _cut(shape: Shape, largest: int) -> Tiling:
    """B has one column per row of texels; A and C have four columns per texel."""
    columns = largest // PER_TEXEL * PER_TEXEL or largest
    return Tiling(
        segments(shape.m, largest),
        segments(shape.l, largest * PER_TEXEL, PER_TEXEL),
        segments(shape.n, columns, PER_TEXEL),
    )


def _operands(tiling: Tiling, layout: Layout) -> tuple[list[Texture], list[Input]]:
    tiles = [
        layout.operand("A", tiling.name("A", i, k), rows, inner, transposed=False)
        for i, rows in enumerate(tiling.rows)
        for k, inner in enumerate(tiling.inner)
    ] + [
        _transposed_b(layout, tiling.name("B", k, j), inner, columns)
        for k, inner in enumerate(tiling.inner)
        for j, columns in enumerate(tiling.columns)
    ]
    return [texture for texture, _ in tiles], [transfer for _, transfer in tiles]


def _transposed_b(
    layout: Layout, name: str, inner: Segment, columns: Segment
) -> tuple[Texture, Input]:
    """The texture of a tile of B, with one column per row of texels, and its transfer.

    Its columns are not padded to a multiple of four. Where a fragment has fewer than four columns,
    its other lookups clamp to the last column, and C has no elements for their results.
    """
    texture = layout.texture(name, columns.length, inner.texels)
    region = Region(inner.start, columns.start, inner.length, columns.length)
    return texture, Input("B", region, name, full_rect(texture), replace(ROW, transposed=True))


def _rows_of_transposed_b(set_index: int, texels: int) -> Texcoords:
    """The four rows of B's texture that a fragment reads, as s, t, r and q: 4j + 0.5 to 4j + 3.5.

    texels: the width of C's texture. The fragment's centre is at x = j + 0.5.
    """

    def at(j: int) -> NumberVec4:
        first = PER_TEXEL * (j - 0.5) + 0.5
        return (first, first + 1, first + 2, first + 3)

    return Texcoords(set_index, (at(0), at(texels), at(texels), at(0)))


METHOD = Method(
    name="row-packed",
    year=2015,
    paper="weblas",
    summary="the whole sum in one pass, 1×4 elements in one RGBA texel, B transposed, dot products",
    lacked="compute shaders, shared memory, writes to any texel but the fragment's own (WebGL)",
    defaults=Options(texture_format=RGBA32F.name),
    build=_build,
    aliases=("weblas",),
    refuses=frozenset(
        {
            "block",
            "accumulate",
            "as_printed",
            "dynamic",
            "transpose_a",
            "transpose_b",
            "coordinates_first",
        }
    ),
    formats=(RGBA32F.name,),
)
