"""SGEMM of the Mali OpenCL SDK: one invocation per element, four products at a time in a vec4.

The four partial sums are added at the end, in the listing's order. The listing needs square
matrices whose order is a multiple of 4. Here matrices of any size are padded with zeros to fit the
work groups and the vec4.
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.product import (
    DispatchedProduct,
    Sizes,
    method,
    padded_to,
    product,
)
from gpgpu_legacy.languages.shaders import load_compute_kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder

VECTOR = 4


@method(
    year=2012,
    source="Mali OpenCL SDK v1.1.0, SGEMM sample",
    summary="one thread per element, four products at a time in a vec4, α·AB + β·C",
    lacked="shared memory of its own on the chip, so nothing is staged; registers are vectors",
    gallery="""
    ![A, B, waves, and a heart on waves](gallery/mali-sgemm.png)

    The whole of SGEMM in one kernel, α·AB + β·C: here the waves of A are the C to which the
    heart is added.

    ```shell
    gpgpu-legacy figure mali-sgemm A=a.npy B=b.npy beta=1 C0=a.npy --plot mali-sgemm.png
    ```
    """,
)
def mali_sgemm(sizes: Sizes) -> PlanBuilder:
    """The kernel computes α·AB + β·C itself."""
    adds, alpha, beta = sizes.beta is not None, sizes.alpha, sizes.beta or 0.0
    kernel = load_compute_kernel("mali_sdk/sgemm.comp")
    local_x, local_y = kernel.local_size
    padded = padded_to(sizes.shape, local_y, VECTOR, local_x)
    p = DispatchedProduct(mali_sgemm.name, sizes.shape, padded, adds=adds)
    p.multiply(kernel, padded, matrixOrder=padded.l, columns=padded.n, alpha=alpha, beta=beta)
    return product(p, sizes, scales=True)
