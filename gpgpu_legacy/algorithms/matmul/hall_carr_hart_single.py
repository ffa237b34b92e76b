"""Hall, Carr & Hart 2003, Section 3: the single-channel method, with one element per texel."""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK, build, load_listing
from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import Layout, TiledProduct
from gpgpu_legacy.plan.formats import R32F


def _build(shape: Shape, options: Options) -> TiledProduct:
    assert options.block is not None
    program = load_listing("single", options)
    return build(METHOD.name, program, Layout(1, options.block, R32F, options), shape, options)


METHOD = Method(
    name="hall-carr-hart-single",
    year=2003,
    paper="Hall, Carr & Hart 2003, Section 3",
    summary="b iterations of the inner loop per pass, one element per texel",
    lacked="loops, long programs, a way to read the framebuffer while drawing",
    defaults=Options(block=DEFAULT_BLOCK, accumulate=Accumulate.COPY, texture_format=R32F.name),
    build=_build,
    refuses=frozenset({"as_printed", "dynamic", "tile"}),
)
