"""Larson & McAllister 2001: one multitextured rectangle per pass, summed by the framebuffer.

The product is a sum of outer products, column i of A times row i of B. Pass i draws a rectangle of
the size of C. Its texture coordinates replicate the column and the row, multitexturing modulates
one with the other, and the framebuffer accumulates (Hall, Carr & Hart 2003, Figure 1).
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.matrices import product_operands, result_matrix
from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import (
    Layout,
    Tile,
    Tiling,
    coordinates_of_a,
    coordinates_of_b,
    full_rect,
    operands,
    tile_product,
)
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.plan.formats import FORMATS, R32F, UNORM8
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import Binding, Blend, ClearPass, FragmentPass, Plan, Repeat, Step
from gpgpu_legacy.plan.textures import Texture


def _build(shape: Shape, options: Options) -> Plan:
    assert options.texture_format is not None
    layout = Layout(1, 1, FORMATS[options.texture_format], options)
    tiling = tile_product(shape, layout)
    textures, inputs = operands(tiling, layout)
    steps: list[Step] = []
    outputs = []
    for tile in tiling.tiles():
        screen = layout.texture(f"C{tile.suffix}", tile.rows.texels, tile.columns.texels)
        textures.append(screen)
        steps.append(ClearPass(screen.name))
        steps += _passes(tiling, tile, screen, options)
        outputs.append(layout.output(screen, tile.rows, tile.columns))
    return Plan(
        "larson-mcallister",
        product_operands(shape, options),
        (result_matrix(shape),),
        tuple(textures),
        tuple(inputs),
        tuple(steps),
        tuple(outputs),
    )


def _passes(tiling: Tiling, tile: Tile, screen: Texture, options: Options) -> list[Step]:
    """Figure 1's loop: a Repeat for each segment of the inner dimension.

    The figure's coordinates are texel indices, from 0 to m - 1. Texel centres are half a texel
    further and the edges of the rectangle are at 0 and m, so m - 1 becomes m and i becomes i + 0.5.
    `as_printed` keeps the figure's numbers.
    """
    first = 0.0 if options.as_printed else 0.5
    short = 1 if options.as_printed else 0
    i = Affine(first, 1.0)
    rows, columns = tile.rows.texels - short, tile.columns.texels - short
    return [
        Repeat(
            inner.length,
            (
                FragmentPass(
                    program=load_program("larson_mcallister_2001/modulate.fp"),
                    bindings=(
                        Binding(0, tiling.name("A", tile.row, k)),
                        Binding(1, tiling.name("B", k, tile.column)),
                    ),
                    targets=(screen.name,),
                    rect=full_rect(screen),
                    texcoords=(
                        coordinates_of_a(0, rows, i, transposed=options.transpose_a),
                        coordinates_of_b(1, columns, i, transposed=options.transpose_b),
                    ),
                    blend=Blend.ADD,
                ),
            ),
        )
        for k, inner in enumerate(tiling.inner)
    ]


METHOD = Method(
    name="larson-mcallister",
    year=2001,
    paper="Larson & McAllister 2001",
    summary="one multitextured rectangle per pass, modulated and accumulated in the framebuffer",
    lacked="programs, and floats in textures and framebuffers: 8 bits, clamped",
    defaults=Options(texture_format=R32F.name),
    build=_build,
    aliases=("larsen-mcallister",),
    refuses=frozenset({"block", "accumulate", "dynamic", "coordinates_first"}),
    formats=(R32F.name, UNORM8.name),
)
