"""The row-packed product of the WebGL library weblas (2015): the whole sum in one pass.

An RGBA texel holds four consecutive elements of a row, and B is stored transposed, so both operands
are read along rows. A fragment computes four consecutive elements of a row of C: an iteration looks
up one texel of A and one of each of four columns of B, and takes four dot products. The original
shader loops over the inner dimension. ARB_fragment_program has no loops, so it is unrolled here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import (
    FIELD,
    MOST_UNROLLED,
    Shape,
    Sizes,
    Stored,
    product,
)
from gpgpu_legacy.algorithms.matmul.tiles import (
    Layout,
    Segment,
    TiledProduct,
    Tiling,
    coordinates_of_a,
    region,
    segments,
)
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.packings import CHANNELS, ROW_OF_FOUR
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE, RGBA32F
from gpgpu_legacy.plan.textures import Matrix, Texture


def row_packed(
    sizes: Sizes,
    largest_texture: Annotated[int, "width and height of the largest texture, in texels"] = (
        LARGEST_TEXTURE
    ),
) -> PlanBuilder:
    """Four elements of a row in a texel; B is stored transposed."""
    stored = Stored(largest_texture=largest_texture)

    def multiply(shape: Shape) -> PlanBuilder:
        layout = Layout(1, 1, RGBA32F, stored, ROW_OF_FOUR)
        p = _RowPacked(ALGORITHM.name, shape, layout, _cut(shape, largest_texture))
        for tile, k, target, blend in p.segments():
            p.draw(
                load_program("descendants/row_packed.fp.j2", block=p.tiling.inner[k].texels),
                p.factors(tile, k),
                into=target,
                texcoords={
                    0: coordinates_of_a(tile.rows.texels, 0.5, transposed=False),
                    1: _rows_of_transposed_b(tile.columns.texels),
                },
                blend=blend,
            )
        return p

    return product(ALGORITHM.name, sizes, multiply, stored)


def _cut(shape: Shape, largest: int) -> Tiling:
    """B has one column per row of texels; A and C have four columns per texel.

    Where the inner dimension is longer than a program may be, the sum takes several passes.
    """
    columns = largest // CHANNELS * CHANNELS or largest
    return Tiling(
        segments(shape.m, largest),
        segments(shape.l, min(largest, MOST_UNROLLED) * CHANNELS, CHANNELS),
        segments(shape.n, columns, CHANNELS),
    )


class _RowPacked(TiledProduct):
    """B is stored transposed."""

    def fill_b(self, b: Matrix, name: str, inner: Segment, columns: Segment) -> Texture:
        """The texture of a tile of B, with one column per row of texels, filled.

        Its columns are not padded to a multiple of four. Where a fragment has fewer than four
        columns, its other lookups clamp to the last column, and C has no elements for their
        results.
        """
        texture = self.texels(name, columns.length, inner.texels)
        packing = replace(ROW_OF_FOUR, transposed=True)
        self.upload(b, texture, region=region(inner, columns), packing=packing)
        return texture


def _rows_of_transposed_b(texels: int) -> tuple[Vec4, Vec4, Vec4, Vec4]:
    """The four rows of B's texture that a fragment reads, as s, t, r and q: 4j + 0.5 to 4j + 3.5.

    texels: the width of C's texture. The fragment's centre is at x = j + 0.5.
    """

    def at(j: int) -> Vec4:
        first = CHANNELS * (j - 0.5) + 0.5
        return (first, first + 1, first + 2, first + 3)

    return (at(0), at(texels), at(texels), at(0))


ALGORITHM = Algorithm(
    name="row-packed",
    year=2015,
    field=FIELD,
    source="weblas",
    summary="the whole sum in one pass, 1×4 elements in one RGBA texel, B transposed, dot products",
    lacked="compute shaders, shared memory, writes to any texel but the fragment's own (WebGL)",
    build=row_packed,
    aliases=("weblas",),
)
