"""Govindaraju, Larsen, Gray & Manocha 2006: the product drawn tile by tile.

"A memory model for scientific algorithms on graphics processors" (SC 2006) makes algorithms, "dense
matrix-multiplication" among them, cache-efficient. Only the paper's abstract was at hand. What is
built here is the order of drawing alone: a square of the framebuffer goes through all of its passes
before the next one begins, so that its partial sums and the operands that its fragments share can
stay in the texture cache. The program is Hall, Carr & Hart's multichannel one.
docs/explanation/tiles.md derives what a cache then takes from memory.
"""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import build, load_listing
from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import (
    Layout,
    TiledProduct,
    Tiling,
    tile_product,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.formats import RGBA32F

DEFAULT_BLOCK, DEFAULT_TILE = 4, 32
"""A pass reads 4·32 texels of B in each row of a tile: 2 KiB, which any texture cache holds."""

USUAL_TILES = 256
"""The most tiles that are drawn where nobody asks for more: 16 along each side."""

MOST_TILES = 1024
"""The most tiles that are drawn: a plan of so many takes ten seconds to analyse."""


def _build(shape: Shape, options: Options) -> TiledProduct:
    assert options.block is not None
    program = load_listing(
        "multi", options, transpose_a=options.transpose_a, transpose_b=options.transpose_b
    )
    layout = Layout(2, options.block, RGBA32F, options)
    tile = _tile(tile_product(shape, layout), options)
    layout = replace(layout, options=replace(options, tile=tile))
    return build(METHOD.name, program, layout, shape, options)


def _tile(tiling: Tiling, options: Options) -> int:
    """The tile that was asked for; else the default, doubled until there are USUAL_TILES.

    Raises InputError where those that were asked for are more than MOST_TILES.
    """
    if options.tile is None:
        tile = DEFAULT_TILE
        while tiling.draws(tile) > USUAL_TILES and tile < options.largest_texture:
            tile *= 2
        return tile
    draws = tiling.draws(options.tile)
    if draws > max(MOST_TILES, tiling.draws(options.largest_texture)):
        raise InputError(
            f"the product has {draws} tiles of {options.tile}×{options.tile} texels, and at most "
            f"{MOST_TILES} are planned; choose larger tiles"
        )
    return options.tile


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
    ),
    build=_build,
    refuses=frozenset({"as_printed", "dynamic"}),
    formats=(RGBA32F.name,),
)
