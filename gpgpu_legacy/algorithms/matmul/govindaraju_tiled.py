"""Govindaraju, Larsen, Gray & Manocha 2006: the product drawn tile by tile.

"A memory model for scientific algorithms on graphics processors" (SC 2006) makes algorithms, "dense
matrix-multiplication" among them, cache-efficient. Only the paper's abstract was at hand. Only the
order of drawing is implemented here: a square of the framebuffer goes through all of its passes
before the next one begins, so that its partial sums and the operands that its fragments share can
stay in the texture cache. The program is Hall, Carr & Hart's multichannel one.
docs/explanation/tiles.md derives the memory traffic behind a cache.
"""

from __future__ import annotations

from typing import Annotated

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import blocked, in_blocks
from gpgpu_legacy.algorithms.matmul.product import (
    Accumulate,
    AccumulateBy,
    Block,
    CoordinatesFirst,
    Sizes,
    Stored,
    method,
)
from gpgpu_legacy.algorithms.matmul.tiles import TiledProduct
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.textures import RGBA32F

DEFAULT_BLOCK, DEFAULT_TILE = 4, 32
"""A pass reads 4·32 texels of B in each row of a tile: 2 KiB, which any texture cache holds."""

USUAL_TILES = 256
"""The most tiles by default: 16 along each side."""

MOST_TILES = 1024
"""The most tiles: a plan with that many takes ten seconds to analyse."""


@method(
    year=2006,
    source="Govindaraju, Larsen, Gray & Manocha 2006",
    summary="T×T tiles of C one after another, each in passes of b steps, four channels per texel",
    lacked="shared memory; the size of the texture cache was not published",
    gallery=r"""
    ![The heart, tile after tile](gallery/govindaraju-tiled.png)

    Tiles of the product are drawn one after another, so that the cache holds what a tile looks
    up.

    ```shell
    gpgpu-legacy figure govindaraju-tiled A=a.npy B=b.npy tile=8 block=8 \
        --plot govindaraju-tiled.png
    ```
    """,
)
def govindaraju_tiled(
    sizes: Sizes,
    stored: Stored,
    *,
    block: Block = DEFAULT_BLOCK,
    tile: Annotated[
        int | None,
        "side of the squares that are drawn one after another, in texels; without it, 32 or what "
        "makes 256 of them",
    ] = None,
    accumulate: AccumulateBy = Accumulate.PING_PONG,
    coordinates_first: CoordinatesFirst = None,
) -> PlanBuilder:
    """The multichannel program, square by square."""
    p = blocked(govindaraju_tiled.name, sizes, stored, block, RGBA32F, split=2)
    return in_blocks(p, sizes, accumulate, coordinates_first, _side(tile, p))


def _side(tile: int | None, p: TiledProduct) -> int:
    """The requested tile, or the default, doubled until there are at most USUAL_TILES.

    Raises InputError if the requested tile gives more than MOST_TILES.
    """

    def draws(side: int) -> int:
        """The number of squares drawn: each once for each segment of the inner dimension."""
        return len(p.inner) * sum(
            -(-one.rows.texels // side) * -(-one.columns.texels // side) for one in p.tiles
        )

    largest = p.stored.side
    if tile is None:
        side = DEFAULT_TILE
        while draws(side) > USUAL_TILES and side < largest:
            side *= 2
        return side
    drawn = draws(as_positive("tile", tile))
    if drawn > max(MOST_TILES, draws(largest)):
        raise InputError(
            f"the product has {drawn} tiles of {tile}×{tile} texels, and at most {MOST_TILES} are "
            "planned; choose larger tiles"
        )
    return tile
