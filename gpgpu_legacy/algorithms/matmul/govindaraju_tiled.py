"""Govindaraju, Larsen, Gray & Manocha 2006: the product drawn tile by tile.

"A memory model for scientific algorithms on graphics processors" (SC 2006) makes algorithms, "dense
matrix-multiplication" among them, cache-efficient. Only the paper's abstract was at hand. What is
built here is the order of drawing alone: a square of the framebuffer goes through all of its passes
before the next one begins, so that its partial sums and the operands that its fragments share can
stay in the texture cache. The program is Hall, Carr & Hart's multichannel one.
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import build, load_listing
from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import Layout, TiledProduct
from gpgpu_legacy.plan.formats import RGBA32F

DEFAULT_BLOCK, DEFAULT_TILE = 4, 32
"""A pass reads 4·32 texels of B in each row of a tile: 2 KiB, which any texture cache holds."""


def _build(shape: Shape, options: Options) -> TiledProduct:
    assert options.block is not None
    program = load_listing(
        "multi", options, transpose_a=options.transpose_a, transpose_b=options.transpose_b
    )
    return build(METHOD.name, program, Layout(2, options.block, RGBA32F, options), shape, options)


METHOD = Method(
    name="govindaraju-tiled",
    year=2006,
    paper="Govindaraju, Larsen, Gray & Manocha 2006",
    summary="T×T tiles of C one after another, each in passes of b steps, four channels per texel",
    lacked="shared memory; the size of the texture cache was not published",
    defaults=Options(
        block=DEFAULT_BLOCK,
        accumulate=Accumulate.PING_PONG,
        texture_format=RGBA32F.name,
        tile=DEFAULT_TILE,
    ),
    build=_build,
    refuses=frozenset({"as_printed", "dynamic"}),
    formats=(RGBA32F.name,),
)
