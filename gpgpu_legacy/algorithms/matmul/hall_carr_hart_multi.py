"""Hall, Carr & Hart 2003, Section 4: the multichannel method, with four quadrants per texture."""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK, build, load_listing
from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import Layout, TiledProduct
from gpgpu_legacy.plan.formats import RGBA32F


def _build(shape: Shape, options: Options) -> TiledProduct:
    assert options.block is not None
    program = load_listing(
        "multi", options, transpose_a=options.transpose_a, transpose_b=options.transpose_b
    )
    return build(METHOD.name, program, Layout(2, options.block, RGBA32F, options), shape, options)


METHOD = Method(
    name="hall-carr-hart-multi",
    year=2003,
    paper="Hall, Carr & Hart 2003, Section 4",
    summary="b iterations of the inner loop per pass, the four quadrants in one RGBA texel",
    lacked="loops, and any storage wider than four channels",
    defaults=Options(block=DEFAULT_BLOCK, accumulate=Accumulate.COPY, texture_format=RGBA32F.name),
    build=_build,
    refuses=frozenset({"as_printed", "dynamic", "tile"}),
    formats=(RGBA32F.name,),
)
