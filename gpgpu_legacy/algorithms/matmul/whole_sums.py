"""The products of WebGL's libraries: the whole sum in one pass.

weblas (2015, as remembered) packs rows. An RGBA texel holds four consecutive elements of a row, and
B is stored transposed, so both operands are read along rows. A fragment computes four consecutive
elements of a row of C: an iteration looks up one texel of A and one of each of four columns of B,
and takes four dot products.

The WebGL backends of TensorFlow.js (since August 2018) and of ONNX Runtime Web (onnxjs merged it in
2021) put 2×2 blocks of neighbouring elements into RGBA texels. A fragment computes such a block of
C, with the two swizzled multiply-adds per iteration of Hall, Carr & Hart's listing (11).

No partial sum is stored, copied or blended. The original shaders loop over the inner dimension.
ARB_fragment_program has no loops, so it is unrolled here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpgpu_legacy.algorithms.matmul.product import (
    MOST_UNROLLED,
    LargestTexture,
    Sizes,
    Stored,
    method,
    product,
)
from gpgpu_legacy.algorithms.matmul.tiles import Tile, TiledProduct, segments
from gpgpu_legacy.isa.program import Vec4
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.storage import CHANNELS, ROW_OF_FOUR
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.textures import RGBA32F, Matrix, Packing, Texture

NEIGHBOURS = Packing(((0, 0), (0, 1), (1, 0), (1, 1)), row_step=2, column_step=2)
_LACKED = "compute shaders, shared memory, writes to any texel but the fragment's own (WebGL)"


@method(
    year=2015,
    source="weblas",
    summary="the whole sum in one pass, 1×4 elements in one RGBA texel, B transposed, dot products",
    aliases=("weblas",),
    lacked=_LACKED,
    gallery="""
    ![A and the heart in four channels, narrow; B transposed](gallery/row-packed.png)

    Four neighbours of a row lie in one texel, and B is transposed: the whole sum in one pass,
    as dot products.

    ```shell
    gpgpu-legacy figure row-packed A=a.npy B=b.npy --plot row-packed.png
    ```
    """,
)
def row_packed(sizes: Sizes, largest_texture: LargestTexture = None) -> PlanBuilder:
    """Four elements of a row in a texel; B is stored transposed."""
    stored, shape = Stored(largest_texture=largest_texture), sizes.shape
    side = stored.side
    # B has one column per row of texels; A and C have four columns per texel.
    sides = (
        segments(shape.m, side),
        segments(shape.l, min(side, MOST_UNROLLED) * CHANNELS, CHANNELS),
        segments(shape.n, side // CHANNELS * CHANNELS or side, CHANNELS),
    )
    p = _RowPacked("row-packed", shape, stored, RGBA32F, packing=ROW_OF_FOUR, sides=sides)
    return product(_drawn(p, "row_packed"), sizes)


@method(
    year=2018,
    source="TensorFlow.js' packed WebGL backend",
    summary="the whole sum in one pass, 2×2 neighbouring elements in one RGBA texel",
    aliases=("tfjs-packed",),
    lacked=_LACKED,
    gallery="""
    ![Four small hearts, one for each channel](gallery/packed-2x2.png)

    Four neighbours, two by two, lie in one texel: each channel has every other row and column.

    ```shell
    gpgpu-legacy figure packed-2x2 A=a.npy B=b.npy --plot packed-2x2.png
    ```
    """,
)
def packed_2x2(sizes: Sizes, stored: Stored) -> PlanBuilder:
    """2×2 neighbouring elements in a texel; the whole sum in a pass."""
    p = TiledProduct(
        "packed-2x2", sizes.shape, stored, RGBA32F,
        split=2, packing=NEIGHBOURS, unrolled=MOST_UNROLLED,
    )  # fmt: skip
    turned = {"transpose_a": stored.transpose_a, "transpose_b": stored.transpose_b}
    return product(_drawn(p, "packed_2x2", turned, local={0: p.coordinate_steps}), sizes, stored)


def _drawn(
    p: TiledProduct, shader: str, given: dict[str, bool] | None = None, **keywords: Any
) -> PlanBuilder:
    """The product, drawn by a shader that unrolls the inner dimension.

    If that exceeds a texture or a program, there are several passes, and the framebuffer adds them
    up by blending. given: the shader's variables.
    """
    several = len(p.inner) > 1
    for tile in p.tiles:
        target, (rows, columns) = p.target("C", tile), (tile.rows.texels, tile.columns.texels)
        if several:
            p.clear(target)
        for k, inner in enumerate(p.inner):
            p.draw(
                load_program(f"descendants/{shader}.fp.j2", block=inner.texels, **given or {}),
                p.factors(tile, k),
                into=target,
                texcoords=p.coordinates(rows, columns, 0.5),
                blend=ADD if several else None,
                **keywords,
            )
        p.finish(tile, target)
    return p


class _RowPacked(TiledProduct):
    """The builder of a product with packed rows, whose B is stored transposed."""

    def fill(self, matrix: Matrix, tile: Tile, transposed: bool) -> Texture:
        """The texture of a tile, filled; of B with one column per row of texels.

        Its columns are not padded to a multiple of four. Where a fragment has fewer than four
        columns, its other lookups clamp to the last column, and C has no elements for their
        results.
        """
        if matrix.name == "A":
            return super().fill(matrix, tile, transposed)
        columns = replace(tile.columns, texels=tile.columns.length)
        texture = self.target("B", replace(tile, rows=columns, columns=tile.rows))
        packing = replace(ROW_OF_FOUR, transposed=True)
        self.upload(matrix, texture, region=tile.region, packing=packing)
        return texture

    def coordinates(self, rows: float, columns: float, *places: Any) -> dict[int, Any]:
        """The coordinates; for B, the four rows that a fragment reads, as s, t, r and q.

        They are 4j + 0.5 to 4j + 3.5, where the fragment's centre is at x = j + 0.5.
        """

        def at(j: float) -> Vec4:
            first = CHANNELS * (j - 0.5) + 0.5
            return (first, first + 1, first + 2, first + 3)

        of_b = (at(0), at(columns), at(columns), at(0))
        return super().coordinates(rows, columns, *places) | {1: of_b}
