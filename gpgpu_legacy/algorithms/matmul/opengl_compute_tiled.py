"""The OpenGL compute-shader multiply: 32×32 tiles staged in shared memory, dispatched in batches.

The host dispatches batches of 64×64 work groups, which cover 2048×2048 elements, and passes the
corner of each batch as uniforms. As printed, every batch is whole, and guards in the kernel discard
the invocations outside the matrix. By default a batch has only the needed work groups, and the
kernel has no guards if they could never fail.
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.product import (
    AsPrinted,
    DispatchedProduct,
    Sizes,
    groups_for,
    method,
    product,
)
from gpgpu_legacy.languages.shaders import load_compute_kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder

TILE = 32  # BLOCK_SIZE
BATCH_GROUPS = 64  # Algorithm 1: gsize(64, 64, 1)


@method(
    year=2012,
    source="the OpenGL compute-shader multiply, Algorithms 1 and 2",
    summary="32×32 tiles staged in shared memory, guarded, in batches of 64×64 work groups",
    lacked="nothing that this method needs: OpenGL 4.3 brought shared memory and barriers",
    gallery=r"""
    ![A, B, and the heart](gallery/opengl-compute-tiled.png)

    A work group stages tiles of A and B in shared memory, which drawing never had.

    ```shell
    gpgpu-legacy figure opengl-compute-tiled A=a.npy B=b.npy \
        --plot opengl-compute-tiled.png
    ```
    """,
)
def opengl_compute_tiled(sizes: Sizes, as_printed: AsPrinted = False) -> PlanBuilder:
    """As printed, batches are whole; otherwise as large as the matrix needs."""
    shape = sizes.shape
    whole = shape.m % TILE == shape.l % TILE == shape.n % TILE == 0
    kernel = load_compute_kernel(
        "opengl_compute/tiled.comp.j2", as_printed=as_printed, guarded=as_printed or not whole
    )
    local_x, local_y = kernel.local_size
    groups_x, groups_y = groups_for(shape, kernel)
    p = DispatchedProduct(opengl_compute_tiled.name, shape, shape)
    for y in range(0, groups_y, BATCH_GROUPS):
        for x in range(0, groups_x, BATCH_GROUPS):
            whole_batch = BATCH_GROUPS, BATCH_GROUPS
            needed = min(BATCH_GROUPS, groups_x - x), min(BATCH_GROUPS, groups_y - y)
            p.dispatch(
                kernel,
                p.buffers,
                whole_batch if as_printed else needed,
                uniforms={"m": shape.m, "n": shape.l, "l": shape.n}
                | {"x0": x * local_x, "y0": y * local_y},
                independent=(x, y) != (0, 0),  # batches write different elements
            )
    return product(p, sizes)
