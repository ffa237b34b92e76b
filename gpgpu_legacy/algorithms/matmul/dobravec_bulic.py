"""Dobravec & Bulić 2017: the product on the host, from global memory and from shared memory.

The kernels are the paper's Listings 1, 2 and 4. The paper's sizes are multiples of the block. Here
matrices of any size are padded with zeros to such a multiple.
"""

from __future__ import annotations

from typing import Annotated, Literal

from gpgpu_legacy.algorithms.matmul.product import (
    DispatchedProduct,
    Shape,
    Sizes,
    method,
    padded_to,
    product,
)
from gpgpu_legacy.languages.shaders import load_compute_kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder

Side = Annotated[Literal[1, 2, 4, 8, 16, 32], "side of the square blocks of threads, the paper's b"]
"""Blocks of 1 to 16 are those of Table 2; today's devices allow 32×32 threads as well."""

_PAPER = "Dobravec & Bulić 2017"


@method(
    year=2017,
    source=f"{_PAPER}, Listing 1",
    summary="three nested loops in one invocation, summed in double: the host's MulH",
    lacked="parallelism: it is the host, in one thread",
    gallery="""
    ![A, B, and the heart](gallery/dobravec-bulic-host.png)

    Three nested loops, which the paper ran on the host: one invocation computes everything.

    ```shell
    gpgpu-legacy figure dobravec-bulic-host A=a.npy B=b.npy --plot dobravec-bulic-host.png
    ```
    """,
)
def dobravec_bulic_host(sizes: Sizes) -> PlanBuilder:
    """The host's MulH: three nested loops in one invocation."""
    shape = sizes.shape
    p = DispatchedProduct(dobravec_bulic_host.name, shape, shape)
    kernel = load_compute_kernel("dobravec_bulic_2017/host.comp")
    p.multiply(kernel, Shape(1, 1, 1), hA=shape.m, wA=shape.l, wB=shape.n)
    return product(p, sizes)


@method(
    year=2017,
    source=f"{_PAPER}, Listing 2",
    summary="one thread per element, operands from global memory: MulDG",
    lacked="a cache for global memory (compute capability 1.1)",
    gallery=r"""
    ![A, B, and the heart](gallery/dobravec-bulic-global.png)

    A thread for each element reads a row of A and a column of B from global memory.

    ```shell
    gpgpu-legacy figure dobravec-bulic-global A=a.npy B=b.npy \
        --plot dobravec-bulic-global.png
    ```
    """,
)
def dobravec_bulic_global(sizes: Sizes, block: Side = 16) -> PlanBuilder:
    """MulDG: operands from global memory."""
    return _on_device("global", sizes, block)


@method(
    year=2017,
    source=f"{_PAPER}, Listing 4",
    summary="one thread per element, b×b blocks staged in shared memory: MulDS",
    lacked="more than 16 KiB of shared memory and 512 threads per block",
    gallery=r"""
    ![A, B, and the heart](gallery/dobravec-bulic-shared.png)

    The same with blocks in shared memory, so that each element is read once for b threads.

    ```shell
    gpgpu-legacy figure dobravec-bulic-shared A=a.npy B=b.npy \
        --plot dobravec-bulic-shared.png
    ```
    """,
)
def dobravec_bulic_shared(
    sizes: Sizes,
    block: Side = 16,
    dynamic: Annotated[
        bool, "shared arrays are one-dimensional, as CUDA's are where a launch sets their size"
    ] = False,
) -> PlanBuilder:
    """MulDS: blocks staged in shared memory."""
    return _on_device("shared", sizes, block, dynamic=dynamic)


def _on_device(kind: str, sizes: Sizes, block: int, **parameters: bool) -> PlanBuilder:
    padded = padded_to(sizes.shape, block, block, block)
    p = DispatchedProduct(f"dobravec-bulic-{kind}", sizes.shape, padded)
    kernel = load_compute_kernel(f"dobravec_bulic_2017/{kind}.comp.j2", block=block, **parameters)
    p.multiply(kernel, padded, wA=padded.l, wB=padded.n)
    return product(p, sizes)
