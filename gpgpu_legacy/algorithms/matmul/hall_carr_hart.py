"""Hall, Carr & Hart 2003: b iterations of the inner loop in each pass, in one channel or in four.

Listing (5) is the single-channel method, with one element per texel. Listing (11) is the
multichannel method, with the four quadrants of a matrix in r, g, b and a. They differ in packing
and in the fragment program; the passes are the same.
"""

from __future__ import annotations

from collections.abc import Callable

from gpgpu_legacy.algorithms.matmul.product import (
    MOST_UNROLLED,
    Accumulate,
    AccumulateBy,
    Block,
    CoordinatesFirst,
    Sizes,
    Stored,
    method,
    product,
)
from gpgpu_legacy.algorithms.matmul.tiles import Tile, TiledProduct
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.textures import R32F, RGBA32F, Format, Texture

DEFAULT_BLOCK = 32  # "For our tests we have chosen b = 32" (Section 3)


def _build(name: str, split: int, texels: Format) -> Callable[..., PlanBuilder]:
    """The method of that name, with one element in a texel or quadrants of a matrix."""

    def build(
        sizes: Sizes,
        stored: Stored,
        block: Block = DEFAULT_BLOCK,
        accumulate: AccumulateBy = Accumulate.COPY,
        coordinates_first: CoordinatesFirst = None,
    ) -> PlanBuilder:
        p = blocked(name, sizes, stored, block, texels, split=split)
        return in_blocks(p, sizes, accumulate, coordinates_first)

    return build


def blocked(
    name: str, sizes: Sizes, stored: Stored, block: int, texels: Format, *, split: int
) -> TiledProduct:
    """The builder of a product in blocks, still without passes.

    block: b, the iterations of the inner loop that a pass adds. Raises InputError for a block that
    no program can unroll, or no texture can hold.
    """
    as_positive("block", block)
    if block > stored.side:
        raise InputError(
            f"a block of {block} does not fit a texture of {stored.side} texels; choose "
            "a smaller block or larger textures"
        )
    if block > MOST_UNROLLED:
        raise InputError(f"block is {block}; a program unrolls at most {MOST_UNROLLED} iterations")
    return TiledProduct(name, sizes.shape, stored, texels, split=split, block=block)


def in_blocks(
    p: TiledProduct,
    sizes: Sizes,
    accumulate: Accumulate,
    coordinates_first: int | None,
    side: int | None = None,
) -> PlanBuilder:
    """The product by passes that add b iterations of the inner loop.

    p: its block is b; its split chooses between listings (5) and (11), as printed or with
    coordinates computed first. side: of the squares that are drawn one after another; None for
    whole tiles.
    """
    stored, listing = p.stored, "single" if p.split == 1 else "multi"
    given: dict[str, int | str | bool] = {"block": p.block, "accumulate": accumulate.value}
    if p.split == 2:
        given |= {"transpose_a": stored.transpose_a, "transpose_b": stored.transpose_b}
    if coordinates_first is not None:
        listing = f"{listing}_coordinates_first"
        given["group"] = as_positive("coordinates_first", coordinates_first)
    program = load_program(f"hall_carr_hart_2003/{listing}.fp.j2", **given)
    for tile in p.tiles:
        p.finish(tile, _summed(p, tile, program, accumulate, side))
    return product(p, sizes, stored)


def _summed(
    p: TiledProduct, tile: Tile, program: Program, accumulate: Accumulate, side: int | None
) -> Texture:
    """The texture that has a tile of C after all passes, each with b iterations of the inner loop.

    COPY is listing (5): draw to the framebuffer, then copy the framebuffer to the texture F. With
    PING_PONG two textures alternate as framebuffer and as F, so nothing is copied. With BLEND the
    framebuffer blends, "eliminating the need for the temporary texture F" (Section 3).
    """
    framebuffer, block, f = p.target("C", tile), p.block, None
    turns = accumulate is Accumulate.PING_PONG
    is_odd = turns and sum(inner.texels // block for inner in p.inner) % 2
    if accumulate is Accumulate.BLEND:
        p.clear(framebuffer)
    else:
        f = p.target("F", tile, initial=0.0)
    for square in tile.squares(side):
        for k, inner in enumerate(p.inner):
            with p.repeat(inner.texels // block) as i:
                m = 0.5 + block * i
                coordinates = p.coordinates(square.height, square.width, m, square.y, square.x)
                p.draw(
                    program,
                    p.factors(tile, k) | ({2: f} if f else {}),
                    into=framebuffer,
                    rect=square,
                    texcoords=coordinates | {2: Texels()},
                    local={0: p.coordinate_steps},
                    blend=None if f else ADD,
                )
                if f and turns:
                    p.swap(framebuffer, f)
                elif f:
                    p.copy(framebuffer, f, source_rect=square, target_rect=square)
        if f and is_odd:  # every square begins with the zeros of the same texture
            p.swap(framebuffer, f)
    return f if f and turns and not is_odd else framebuffer


SINGLE = method(
    name="hall-carr-hart-single",
    year=2003,
    source="Hall, Carr & Hart 2003, Section 3",
    summary="b iterations of the inner loop per pass, one element per texel",
    lacked="loops, long programs, a way to read the framebuffer while drawing",
    gallery=r"""
    ![A and B, and the heart after 8, 16, 24 and 32 cosines](gallery/hall-carr-hart-single.png)

    A fragment program adds b cosines in each pass, and a copy hands the sum to the next.

    ```shell
    gpgpu-legacy figure hall-carr-hart-single A=a.npy B=b.npy block=8 \
        --plot hall-carr-hart-single.png
    ```
    """,
)(_build("hall-carr-hart-single", 1, R32F))

MULTI = method(
    name="hall-carr-hart-multi",
    year=2003,
    source="Hall, Carr & Hart 2003, Section 4",
    summary="b iterations of the inner loop per pass, the four quadrants in one RGBA texel",
    lacked="loops, and any storage wider than four channels",
    gallery=r"""
    ![The same in quadrants, one for each channel](gallery/hall-carr-hart-multi.png)

    The quadrants of a matrix lie in r, g, b and a of the same texels, so a pass draws a fourth
    of the fragments.

    ```shell
    gpgpu-legacy figure hall-carr-hart-multi A=a.npy B=b.npy block=4 \
        --plot hall-carr-hart-multi.png
    ```
    """,
)(_build("hall-carr-hart-multi", 2, RGBA32F))
