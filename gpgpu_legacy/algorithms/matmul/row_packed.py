"""The row-packed product of the WebGL libraries: B transposed, dot products, all of it in one pass.

weblas (2015) puts four neighbouring elements of a row in one RGBA texel and stores B transposed, so
that both operands are read along rows. A fragment makes four neighbouring elements of a row of C: a
step looks up one texel of A and one of each of four columns of B, and takes four dot products. The
shader loops over the inner dimension; ARB_fragment_program has no loop, so it is unrolled here.
"""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import (
    Cut,
    Given,
    Layout,
    Span,
    Tile,
    coordinates_of_a,
    spans,
    whole,
    whole_sums,
)
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.plan import (
    Binding,
    FragmentPass,
    Input,
    NumberVec4,
    Packing,
    Plan,
    Region,
    Texcoords,
    Texture,
)

SHARE = 4  # elements of a row in a texel
ROW = Packing(tuple((0, column) for column in range(SHARE)), column_step=SHARE)


def _build(shape: Shape, options: Options) -> Plan:
    layout = Layout(1, 1, RGBA32F, options, ROW)
    cuts = _cut(shape, options.largest_texture)

    def draw(tile: Tile, k: int, target: Texture) -> FragmentPass:
        return FragmentPass(
            load_program("descendants/row_packed.fp.j2", block=cuts.sums[k].texels),
            (Binding(0, cuts.name("A", tile.row, k)), Binding(1, cuts.name("B", k, tile.column))),
            target.name,
            whole(target),
            (
                coordinates_of_a(0, float(tile.rows.texels), 0.5, transposed=False),
                _rows_of_transposed_b(1, tile.columns.texels),
            ),
        )

    return whole_sums(METHOD.name, shape, Given(layout, cuts, *_operands(cuts, layout)), draw)


def _cut(shape: Shape, largest: int) -> Cut:
    """Columns of B stand up its texture, one a row of texels; A and C have four columns a texel."""
    columns = largest // SHARE * SHARE or largest
    return Cut(
        spans(shape.m, largest),
        spans(shape.l, largest * SHARE, SHARE),
        spans(shape.n, columns, SHARE),
    )


def _operands(cuts: Cut, layout: Layout) -> tuple[list[Texture], list[Input]]:
    made = [
        layout.operand("A", cuts.name("A", i, k), rows, sums, transposed=False)
        for i, rows in enumerate(cuts.rows)
        for k, sums in enumerate(cuts.sums)
    ] + [
        _transposed_b(layout, cuts.name("B", k, j), sums, columns)
        for k, sums in enumerate(cuts.sums)
        for j, columns in enumerate(cuts.columns)
    ]
    return [texture for texture, _ in made], [transfer for _, transfer in made]


def _transposed_b(layout: Layout, name: str, sums: Span, columns: Span) -> tuple[Texture, Input]:
    """The texture of a tile of B, a column a row of texels, and the transfer that transposes it.

    It has no padding above: where a fragment has fewer than four columns, lookups of the others
    clamp to the last, and what is made of it has no place in C.
    """
    texture = layout.texture(name, columns.length, sums.texels)
    region = Region(sums.start, columns.start, sums.length, columns.length)
    return texture, Input("B", region, name, whole(texture), replace(ROW, transposed=True))


def _rows_of_transposed_b(set_index: int, texels: int) -> Texcoords:
    """The four rows of B's texture that a fragment needs, as s, t, r and q: 4j + 0.5 to 4j + 3.5.

    texels: how many texels of C stand side by side, the fragment's own with its centre at j + 0.5.
    """

    def at(j: int) -> NumberVec4:
        first = SHARE * (j - 0.5) + 0.5
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
