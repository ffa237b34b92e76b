"""Larson & McAllister 2001: one multitextured rectangle per pass, summed by the framebuffer.

The product is a sum of outer products, column i of A times row i of B. Pass i draws a rectangle of
the size of C. Its texture coordinates replicate the column and the row, multitexturing modulates
one with the other, and the framebuffer accumulates (Hall, Carr & Hart 2003, Figure 1).

A card of 2001 had no fragment programs: the modulation was the state of two texture environments.
A program of three instructions is equivalent, and this package draws with it by default.
"""

from __future__ import annotations

from typing import Annotated, Literal

from gpgpu_legacy.algorithms.matmul.product import AsPrinted, Sizes, Stored, method, product
from gpgpu_legacy.algorithms.matmul.tiles import TiledProduct
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.textures import FORMATS, Numeric

# Figure 2 draws this product. The paper's text gives no numbers, so these are ours. They are
# eighths: float32 holds every product and sum exactly, and all executors draw the same picture.
DEMONSTRATION_A = (
    (1.000, 0.250, 0.375, 0.750),
    (0.125, 0.750, 0.625, 0.250),
    (0.750, 0.125, 1.000, 0.375),
    (0.250, 0.625, 0.125, 1.000),
)

DEMONSTRATION_B = (
    (0.750, 0.125, 0.375, 1.000),
    (0.250, 0.875, 0.625, 0.125),
    (0.625, 0.375, 0.125, 0.750),
    (0.125, 0.750, 1.000, 0.250),
)


@method(
    year=2001,
    source="Larson & McAllister 2001",
    summary="one multitextured rectangle per pass, modulated and accumulated in the framebuffer",
    aliases=("larsen-mcallister",),
    lacked="programs, and floats in textures and framebuffers: 8 bits, clamped",
    then=(("texture_format", "unorm8"), ("state", "texture-environment")),
    gallery=r"""
    ![A heart that becomes sharper with each pass](gallery/larson-mcallister.gif)

    Each pass draws one rectangle: column i of A across it, row i of B down it, and the
    framebuffer adds their product.

    ```shell
    gpgpu-legacy figure larson-mcallister A=a.npy B=b.npy \
        --no-captions --scale 6 --frame-ms 150 --animate larson-mcallister.gif
    ```
    """,
)
def larson_mcallister(
    sizes: Sizes,
    stored: Stored,
    texture_format: Annotated[
        Literal["r32f", "unorm8"], "format of textures and framebuffer"
    ] = "r32f",
    state: Annotated[
        Literal["program", "texture-environment"],
        "what modulates: a program that says the same, or texture environments, as in 2001",
    ] = "program",
    as_printed: AsPrinted = False,
) -> PlanBuilder:
    """Figure 1's loop, for each segment of the inner dimension.

    The figure's coordinates are texel indices, from 0 to m - 1. Texel centres are half a texel
    further and the edges of the rectangle are at 0 and m, so m - 1 becomes m and i becomes i + 0.5.
    `as_printed` keeps the figure's numbers. Texture environments clamp to [0, 1] in 8 bits, and in
    r32f as ARB_color_buffer_float lets them, not at all.
    """
    texels = FORMATS[texture_format]
    is_unorm = texels.numeric is Numeric.UNORM
    if is_unorm and sizes.scales:
        raise InputError("alpha, beta and C0 need float textures; set texture_format to r32f")
    folder = "larson_mcallister_2001"
    if state == "program":
        modulate = load_program(f"{folder}/modulate.fp")
    else:
        modulate = load_program(f"{folder}/modulate.texenv.j2", clamped=is_unorm)
    first, short = (0.0, 1) if as_printed else (0.5, 0)
    p = TiledProduct(larson_mcallister.name, sizes.shape, stored, texels)
    for tile in p.tiles:
        rows, columns = tile.rows.texels - short, tile.columns.texels - short
        screen = p.target("C", tile)
        p.clear(screen)
        for k, inner in enumerate(p.inner):
            with p.repeat(inner.length) as i:
                texcoords = p.coordinates(rows, columns, first + i)
                textures = p.factors(tile, k)
                p.draw(modulate, textures, into=screen, texcoords=texcoords, blend="add")
        p.finish(tile, screen)
    return product(p, sizes, stored, least=0.0 if is_unorm else -0.5)
