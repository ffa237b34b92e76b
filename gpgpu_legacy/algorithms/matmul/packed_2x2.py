"""The 2×2-packed product of the browser frameworks: the whole sum in one pass.

The WebGL backends of TensorFlow.js and ONNX Runtime Web put 2×2 blocks of neighbouring elements
into RGBA texels. A fragment computes such a block of C, with the two swizzled multiply-adds per
iteration of Hall, Carr & Hart's listing (11). It computes the whole sum in one pass, so no partial
sum is stored, copied or blended. The original shaders loop over the inner dimension.
ARB_fragment_program has no loops, so it is unrolled here.
"""

from __future__ import annotations

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
    TiledProduct,
    Tiling,
    coordinate_steps,
    coordinates_of_a,
    coordinates_of_b,
    segments,
)
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.textures import Packing

NEIGHBOURS = Packing(((0, 0), (0, 1), (1, 0), (1, 1)), row_step=2, column_step=2)
_SPLIT = 2  # elements of a row, and of a column, in a texel


def packed_2x2(sizes: Sizes, stored: Stored) -> PlanBuilder:
    """2×2 neighbouring elements in a texel; the whole sum in a pass."""
    layout = Layout(_SPLIT, 1, RGBA32F, stored, NEIGHBOURS)
    a, b = stored.transpose_a, stored.transpose_b

    def multiply(shape: Shape) -> PlanBuilder:
        p = TiledProduct(ALGORITHM.name, shape, layout, _cut(shape, layout))
        for tile, k, target, blend in p.segments():
            block = p.tiling.inner[k].texels
            path = "descendants/packed_2x2.fp.j2"
            p.draw(
                load_program(path, block=block, transpose_a=a, transpose_b=b),
                p.factors(tile, k),
                into=target,
                texcoords={
                    0: coordinates_of_a(tile.rows.texels, 0.5, transposed=a),
                    1: coordinates_of_b(tile.columns.texels, 0.5, transposed=b),
                },
                local={0: coordinate_steps(stored)},
                blend=blend,
            )
        return p

    return product(ALGORITHM.name, sizes, multiply, stored)


def _cut(shape: Shape, layout: Layout) -> Tiling:
    """Where the inner dimension is longer than a program may be, the sum takes several passes."""
    inner = _SPLIT * min(layout.stored.largest_texture, MOST_UNROLLED)
    return Tiling(
        layout.segments(shape.m), segments(shape.l, inner, _SPLIT), layout.segments(shape.n)
    )


ALGORITHM = Algorithm(
    name="packed-2x2",
    year=2018,
    field=FIELD,
    source="TensorFlow.js' packed WebGL backend",
    summary="the whole sum in one pass, 2×2 neighbouring elements in one RGBA texel",
    lacked="compute shaders, shared memory, writes to any texel but the fragment's own (WebGL)",
    build=packed_2x2,
    aliases=("tfjs-packed",),
)
