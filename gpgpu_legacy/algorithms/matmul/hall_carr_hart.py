"""Hall, Carr & Hart 2003: b iterations of the inner loop in each pass, in one channel or in four.

Listing (5) is the single-channel method, with one element per texel. Listing (11) is the
multichannel method, with the four quadrants of a matrix in r, g, b and a. They differ in packing
and in the fragment program; the passes are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import (
    FIELD,
    Accumulate,
    AccumulateBy,
    Block,
    CoordinatesFirst,
    Shape,
    Sizes,
    Stored,
    check_block,
    product,
)
from gpgpu_legacy.algorithms.matmul.tiles import Layout, Tile, TiledProduct
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.formats import R32F, RGBA32F
from gpgpu_legacy.plan.plan import Blend
from gpgpu_legacy.plan.textures import Rect, Texture

DEFAULT_BLOCK = 32  # "For our tests we have chosen b = 32" (Section 3)


def hall_carr_hart_single(
    sizes: Sizes,
    stored: Stored,
    block: Block = DEFAULT_BLOCK,
    accumulate: AccumulateBy = Accumulate.COPY,
    coordinates_first: CoordinatesFirst = None,
) -> PlanBuilder:
    """One element in a texel; b steps of the sum in each pass."""
    layout = Layout(1, check_block(block, stored), R32F, stored)
    return in_blocks("hall-carr-hart-single", sizes, layout, accumulate, coordinates_first)


def hall_carr_hart_multi(
    sizes: Sizes,
    stored: Stored,
    block: Block = DEFAULT_BLOCK,
    accumulate: AccumulateBy = Accumulate.COPY,
    coordinates_first: CoordinatesFirst = None,
) -> PlanBuilder:
    """Quadrants of a matrix in r, g, b and a; b steps of the sum in each pass."""
    layout = Layout(2, check_block(block, stored), RGBA32F, stored)
    return in_blocks("hall-carr-hart-multi", sizes, layout, accumulate, coordinates_first)


def in_blocks(
    name: str,
    sizes: Sizes,
    layout: Layout,
    accumulate: Accumulate,
    coordinates_first: int | None,
    *,
    side_of: Callable[[Shape], int | None] = lambda _: None,
) -> PlanBuilder:
    """The product by a method whose passes add b iterations of the inner loop.

    name: of the method. layout: its block is b; its split chooses between listings (5) and (11), as
    printed or with coordinates computed first. side_of: the side of the squares that are drawn one
    after another; None for whole tiles.
    """
    stored, listing = layout.stored, "single" if layout.split == 1 else "multi"
    given: dict[str, int | str | bool] = {"block": layout.block, "accumulate": accumulate.value}
    if layout.split == 2:
        given |= {"transpose_a": stored.transpose_a, "transpose_b": stored.transpose_b}
    if coordinates_first is not None:
        listing = f"{listing}_coordinates_first"
        given["group"] = as_positive("coordinates_first", coordinates_first)
    program = load_program(f"hall_carr_hart_2003/{listing}.fp.j2", **given)

    def multiply(shape: Shape) -> PlanBuilder:
        side = side_of(shape)
        p = TiledProduct(name, shape, layout)
        for tile in p.tiling.tiles():
            p.finish(tile, _ACCUMULATE[accumulate](p, tile, program, side))
        return p

    return product(name, sizes, multiply, stored)


def _copy(p: TiledProduct, tile: Tile, program: Program, side: int | None) -> Texture:
    """Listing (5): draw to the framebuffer, then copy the framebuffer to the texture F."""
    framebuffer, f = p.target("C", tile), p.target("F", tile, initial=0.0)
    for square in tile.squares(side):
        for _ in _passes(p, tile, square, program, framebuffer, partial=f):
            p.copy(framebuffer, f, source_rect=square, target_rect=square)
    return framebuffer


def _ping_pong(p: TiledProduct, tile: Tile, program: Program, side: int | None) -> Texture:
    """Two textures alternate as framebuffer and as F, so nothing is copied."""
    framebuffer, f = p.target("C", tile), p.target("F", tile, initial=0.0)
    is_odd = sum(inner.texels // p.layout.block for inner in p.tiling.inner) % 2
    for square in tile.squares(side):
        for _ in _passes(p, tile, square, program, framebuffer, partial=f):
            p.swap(framebuffer, f)
        if is_odd:  # every square begins with the zeros of the same texture
            p.swap(framebuffer, f)
    return framebuffer if is_odd else f


def _blend(p: TiledProduct, tile: Tile, program: Program, side: int | None) -> Texture:
    """The framebuffer blends, "eliminating the need for the temporary texture F" (Section 3)."""
    framebuffer = p.target("C", tile)
    p.clear(framebuffer)
    for square in tile.squares(side):
        for _ in _passes(p, tile, square, program, framebuffer):
            pass
    return framebuffer


def _passes(
    p: TiledProduct,
    tile: Tile,
    square: Rect,
    program: Program,
    target: Texture,
    *,
    partial: Texture | None = None,
) -> Iterator[None]:
    """Repeat a pass that adds b iterations of the inner loop, for each segment of it.

    The caller adds to the Repeat what follows the pass. square: what is drawn of the tile.
    partial: the texture of the sum so far, the paper's F; None if the framebuffer adds up.
    """
    for k, inner in enumerate(p.tiling.inner):
        with p.repeat(inner.texels // p.layout.block) as i:
            step = 0.5 + p.layout.block * i
            coordinates = p.coordinates(square.height, square.width, step, square.y, square.x)
            p.draw(
                program,
                p.factors(tile, k) | ({2: partial} if partial else {}),
                into=target,
                rect=square,
                texcoords=coordinates | {2: Texels()},
                local={0: p.coordinate_steps},
                blend=Blend.NONE if partial else Blend.ADD,
            )
            yield


_ACCUMULATE: dict[Accumulate, Callable[[TiledProduct, Tile, Program, int | None], Texture]] = {
    Accumulate.COPY: _copy,
    Accumulate.PING_PONG: _ping_pong,
    Accumulate.BLEND: _blend,
}

ALGORITHMS = (
    Algorithm(
        name="hall-carr-hart-single",
        year=2003,
        field=FIELD,
        source="Hall, Carr & Hart 2003, Section 3",
        summary="b iterations of the inner loop per pass, one element per texel",
        lacked="loops, long programs, a way to read the framebuffer while drawing",
        build=hall_carr_hart_single,
    ),
    Algorithm(
        name="hall-carr-hart-multi",
        year=2003,
        field=FIELD,
        source="Hall, Carr & Hart 2003, Section 4",
        summary="b iterations of the inner loop per pass, the four quadrants in one RGBA texel",
        lacked="loops, and any storage wider than four channels",
        build=hall_carr_hart_multi,
    ),
)
