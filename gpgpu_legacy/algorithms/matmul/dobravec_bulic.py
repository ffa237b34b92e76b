"""Dobravec & Bulić 2017: the product on the host, from global memory and from shared memory.

The kernels are the paper's Listings 1, 2 and 4. The paper's sizes are multiples of the block. Here
matrices of any size are padded with zeros to such a multiple.
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.dispatch import REFUSED, DispatchedProduct, padded_to
from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.kernel.shaders import load_kernel
from gpgpu_legacy.plan.formats import R32F

BLOCKS = (1, 2, 4, 8, 16, 32)
"""The block sizes: 1 to 16 are those of Table 2; today's devices allow 32×32 threads as well."""

_PAPER = "Dobravec & Bulić 2017"


def _build_host(shape: Shape, options: Options) -> DispatchedProduct:
    p = DispatchedProduct("dobravec-bulic-host", shape, options, shape)
    kernel = load_kernel("dobravec_bulic_2017/host.comp")
    p.multiply(kernel, Shape(1, 1, 1), hA=shape.m, wA=shape.l, wB=shape.n)
    return p


def _build_device(
    name: str, shape: Shape, options: Options, **parameters: bool
) -> DispatchedProduct:
    assert options.block is not None
    block = options.block
    padded = padded_to(shape, block, block, block)
    p = DispatchedProduct(f"dobravec-bulic-{name}", shape, options, padded)
    kernel = load_kernel(f"dobravec_bulic_2017/{name}.comp.j2", block=block, **parameters)
    p.multiply(kernel, padded, wA=padded.l, wB=padded.n)
    return p


def _build_global(shape: Shape, options: Options) -> DispatchedProduct:
    return _build_device("global", shape, options)


def _build_shared(shape: Shape, options: Options) -> DispatchedProduct:
    return _build_device("shared", shape, options, dynamic=options.dynamic)


_DEFAULTS = Options(block=16, texture_format=R32F.name)

METHODS = (
    Method(
        name="dobravec-bulic-host",
        year=2017,
        paper=f"{_PAPER}, Listing 1",
        summary="three nested loops in one invocation, summed in double: the host's MulH",
        lacked="parallelism: it is the host, in one thread",
        defaults=Options(texture_format=R32F.name),
        build=_build_host,
        refuses=REFUSED | {"block"},
    ),
    Method(
        name="dobravec-bulic-global",
        year=2017,
        paper=f"{_PAPER}, Listing 2",
        summary="one thread per element, operands from global memory: MulDG",
        lacked="a cache for global memory (compute capability 1.1)",
        defaults=_DEFAULTS,
        build=_build_global,
        refuses=REFUSED,
        blocks=BLOCKS,
    ),
    Method(
        name="dobravec-bulic-shared",
        year=2017,
        paper=f"{_PAPER}, Listing 4",
        summary="one thread per element, b×b blocks staged in shared memory: MulDS",
        lacked="more than 16 KiB of shared memory and 512 threads per block",
        defaults=_DEFAULTS,
        build=_build_shared,
        refuses=REFUSED - {"dynamic"},
        blocks=BLOCKS,
    ),
)
