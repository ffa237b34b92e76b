"""SGEMM of the Mali OpenCL SDK: one invocation per element, four products at a time in a vec4.

The four partial sums are added at the end, in the listing's order. The listing needs square
matrices whose order is a multiple of 4. Here matrices of any size are padded with zeros to what the
work groups and the vec4 need.
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.dispatch import REFUSED, DispatchedProduct, padded_to
from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.kernel.shaders import load_kernel
from gpgpu_legacy.plan.formats import R32F

VECTOR = 4


def _build(shape: Shape, options: Options) -> DispatchedProduct:
    kernel = load_kernel("mali_sdk/sgemm.comp")
    local_x, local_y = kernel.local_size
    padded = padded_to(shape, local_y, VECTOR, local_x)
    p = DispatchedProduct(METHOD.name, shape, options, padded, adds=True)
    order, columns = padded.l, padded.n
    p.multiply(
        kernel, padded, matrixOrder=order, columns=columns, alpha=options.alpha, beta=options.beta
    )
    return p


METHOD = Method(
    name="mali-sgemm",
    year=2012,
    paper="Mali OpenCL SDK v1.1.0, SGEMM sample",
    summary="one thread per element, four products at a time in a vec4, α·AB + β·C",
    lacked="shared memory of its own on the chip, so nothing is staged; registers are vectors",
    defaults=Options(texture_format=R32F.name),
    build=_build,
    refuses=REFUSED | {"block"},
    scales=True,
)
