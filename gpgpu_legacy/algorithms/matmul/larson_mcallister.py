"""Larson & McAllister 2001: one multitextured rectangle per pass, summed by the framebuffer.

The product is a sum of outer products, column i of A times row i of B. Pass i draws a rectangle of
the size of C. Its texture coordinates replicate the column and the row, multitexturing modulates
one with the other, and the framebuffer accumulates (Hall, Carr & Hart 2003, Figure 1).
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import (
    Layout,
    TiledProduct,
    coordinates_of_a,
    coordinates_of_b,
)
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.plan.formats import FORMATS, R32F, UNORM8


def _build(shape: Shape, options: Options) -> TiledProduct:
    """Figure 1's loop, for each segment of the inner dimension.

    The figure's coordinates are texel indices, from 0 to m - 1. Texel centres are half a texel
    further and the edges of the rectangle are at 0 and m, so m - 1 becomes m and i becomes i + 0.5.
    `as_printed` keeps the figure's numbers.
    """
    assert options.texture_format is not None
    layout = Layout(1, 1, FORMATS[options.texture_format], options)
    p = TiledProduct("larson-mcallister", shape, layout)
    modulate = load_program("larson_mcallister_2001/modulate.fp")
    first, short = (0.0, 1) if options.as_printed else (0.5, 0)
    for tile in p.tiling.tiles():
        rows, columns = tile.rows.texels - short, tile.columns.texels - short
        screen = p.target("C", tile)
        p.clear(screen)
        for k, inner in enumerate(p.tiling.inner):
            with p.repeat(inner.length) as i:
                texcoords = {
                    0: coordinates_of_a(rows, first + i, transposed=options.transpose_a),
                    1: coordinates_of_b(columns, first + i, transposed=options.transpose_b),
                }
                textures = p.factors(tile, k)
                p.draw(modulate, textures, into=screen, texcoords=texcoords, blend="add")
        p.finish(tile, screen)
    return p


METHOD = Method(
    name="larson-mcallister",
    year=2001,
    paper="Larson & McAllister 2001",
    summary="one multitextured rectangle per pass, modulated and accumulated in the framebuffer",
    lacked="programs, and floats in textures and framebuffers: 8 bits, clamped",
    defaults=Options(texture_format=R32F.name),
    build=_build,
    aliases=("larsen-mcallister",),
    refuses=frozenset({"block", "accumulate", "dynamic", "coordinates_first", "tile"}),
    formats=(R32F.name, UNORM8.name),
)
