"""Hall, Carr & Hart 2003: b iterations of the inner loop in each pass, in one channel or in four.

Listing (5) is the single-channel method, with one element per texel. Listing (11) is the
multichannel method, with the four quadrants of a matrix in r, g, b and a. They differ in packing
and in the fragment program; the passes are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpgpu_legacy.algorithms.matmul.product import Accumulate, Shape, Stored
from gpgpu_legacy.algorithms.matmul.tiles import (
    Layout,
    Tile,
    TiledProduct,
    coordinate_steps,
    coordinates_of_a,
    coordinates_of_b,
)
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.plan import Blend
from gpgpu_legacy.plan.textures import Rect, Texture

DEFAULT_BLOCK = 32  # "For our tests we have chosen b = 32" (Section 3)


def load_listing(
    name: str, block: int, accumulate: Accumulate, coordinates_first: int | None, **more: bool
) -> Program:
    """The program of a listing, as printed or with coordinates computed first.

    name: `single` or `multi`. more: further template variables.
    """
    given: dict[str, int | str | bool] = {"block": block, **more}
    if coordinates_first is not None:
        name = f"{name}_coordinates_first"
        given["group"] = as_positive("coordinates_first", coordinates_first)
    path = f"hall_carr_hart_2003/{name}.fp.j2"
    return load_program(path, accumulate=accumulate.value, **given)


def load_multi(
    stored: Stored, block: int, accumulate: Accumulate, coordinates_first: int | None
) -> Program:
    """Listing (11), for operands that may be transposed."""
    turned = {"transpose_a": stored.transpose_a, "transpose_b": stored.transpose_b}
    return load_listing("multi", block, accumulate, coordinates_first, **turned)


def build(
    name: str,
    program: Program,
    layout: Layout,
    shape: Shape,
    accumulate: Accumulate,
    *,
    square: int | None = None,
) -> TiledProduct:
    """The plan of a method with such a program.

    name: of the method. program: from `load_listing`, for the same block and accumulation. shape:
    not empty. square: the side of the squares that are drawn one after another; None for whole
    tiles.
    """
    p = TiledProduct(name, shape, layout)
    for tile in p.tiling.tiles():
        p.finish(tile, _ACCUMULATE[accumulate](p, tile, program, square))
    return p


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
    stored, block = p.stored, p.layout.block
    for k, inner in enumerate(p.tiling.inner):
        with p.repeat(inner.texels // block) as i:
            m = 0.5 + block * i
            p.draw(
                program,
                p.factors(tile, k) | ({2: partial} if partial else {}),
                into=target,
                rect=square,
                texcoords={
                    0: coordinates_of_a(
                        square.height, m, transposed=stored.transpose_a, first=square.y
                    ),
                    1: coordinates_of_b(
                        square.width, m, transposed=stored.transpose_b, first=square.x
                    ),
                    2: Texels(),
                },
                local={0: coordinate_steps(stored)},
                blend=Blend.NONE if partial else Blend.ADD,
            )
            yield


_ACCUMULATE: dict[Accumulate, Callable[[TiledProduct, Tile, Program, int | None], Texture]] = {
    Accumulate.COPY: _copy,
    Accumulate.PING_PONG: _ping_pong,
    Accumulate.BLEND: _blend,
}
