"""Hall, Carr & Hart 2003: b iterations of the inner loop in each pass, in one channel or in four.

Listing (5) is the single-channel method, with one element per texel. Listing (11) is the
multichannel method, with the four quadrants of a matrix in r, g, b and a. They differ in packing
and in the fragment program; the passes are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import (
    Layout,
    Tile,
    TiledProduct,
    coordinate_steps,
    coordinates_of_a,
    coordinates_of_b,
)
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.plan import Blend
from gpgpu_legacy.plan.textures import Rect, Texture

DEFAULT_BLOCK = 32  # "For our tests we have chosen b = 32" (Section 3)


def load_listing(name: str, options: Options, **more: bool) -> Program:
    """The program of a listing, as printed or with coordinates computed first.

    name: `single` or `multi`. options: with all defaults. more: further template variables.
    """
    assert options.block is not None and options.accumulate is not None
    given: dict[str, int | str | bool] = {"block": options.block, **more}
    if options.coordinates_first is not None:
        name, given["group"] = f"{name}_coordinates_first", options.coordinates_first
    path = f"hall_carr_hart_2003/{name}.fp.j2"
    return load_program(path, accumulate=options.accumulate.value, **given)


def build(
    name: str, program: Program, layout: Layout, shape: Shape, options: Options
) -> TiledProduct:
    """The plan of a method with such a program.

    name: of the method. program: from `load_listing`, for the same options. shape: not empty.
    """
    assert options.accumulate is not None
    p = TiledProduct(name, shape, layout)
    for tile in p.tiling.tiles():
        p.finish(tile, _ACCUMULATE[options.accumulate](p, tile, program))
    return p


def _copy(p: TiledProduct, tile: Tile, program: Program) -> Texture:
    """Listing (5): draw to the framebuffer, then copy the framebuffer to the texture F."""
    framebuffer, f = p.target("C", tile), p.target("F", tile, initial=0.0)
    for square in tile.squares(p.options.tile):
        for _ in _passes(p, tile, square, program, framebuffer, partial=f):
            p.copy(framebuffer, f, source_rect=square, target_rect=square)
    return framebuffer


def _ping_pong(p: TiledProduct, tile: Tile, program: Program) -> Texture:
    """Two textures alternate as framebuffer and as F, so nothing is copied."""
    framebuffer, f = p.target("C", tile), p.target("F", tile, initial=0.0)
    is_odd = sum(inner.texels // p.layout.block for inner in p.tiling.inner) % 2
    for square in tile.squares(p.options.tile):
        for _ in _passes(p, tile, square, program, framebuffer, partial=f):
            p.swap(framebuffer, f)
        if is_odd:  # every square begins with the zeros of the same texture
            p.swap(framebuffer, f)
    return framebuffer if is_odd else f


def _blend(p: TiledProduct, tile: Tile, program: Program) -> Texture:
    """The framebuffer blends, "eliminating the need for the temporary texture F" (Section 3)."""
    framebuffer = p.target("C", tile)
    p.clear(framebuffer)
    for square in tile.squares(p.options.tile):
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
    options, block = p.options, p.layout.block
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
                        square.height, m, transposed=options.transpose_a, first=square.y
                    ),
                    1: coordinates_of_b(
                        square.width, m, transposed=options.transpose_b, first=square.x
                    ),
                    2: Texels(),
                },
                local={0: coordinate_steps(options)},
                blend=Blend.NONE if partial else Blend.ADD,
            )
            yield


_ACCUMULATE: dict[Accumulate, Callable[[TiledProduct, Tile, Program], Texture]] = {
    Accumulate.COPY: _copy,
    Accumulate.PING_PONG: _ping_pong,
    Accumulate.BLEND: _blend,
}
