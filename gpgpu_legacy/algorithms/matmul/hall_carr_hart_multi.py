"""Hall, Carr & Hart 2003, Section 4: the multichannel method, with four quadrants per texture."""

from __future__ import annotations

from functools import partial

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK, build, load_multi
from gpgpu_legacy.algorithms.matmul.product import (
    FIELD,
    Accumulate,
    AccumulateBy,
    Block,
    CoordinatesFirst,
    Sizes,
    Stored,
    check_block,
    product,
)
from gpgpu_legacy.algorithms.matmul.tiles import Layout
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.formats import RGBA32F


def hall_carr_hart_multi(
    sizes: Sizes,
    stored: Stored,
    block: Block = DEFAULT_BLOCK,
    accumulate: AccumulateBy = Accumulate.COPY,
    coordinates_first: CoordinatesFirst = None,
) -> PlanBuilder:
    """Quadrants of a matrix in r, g, b and a; b steps of the sum in each pass."""
    program = load_multi(stored, check_block(block, stored), accumulate, coordinates_first)
    layout = Layout(2, block, RGBA32F, stored)
    name = ALGORITHM.name
    multiply = partial(build, name, program, layout, accumulate=accumulate)
    return product(name, sizes, multiply, stored)


ALGORITHM = Algorithm(
    name="hall-carr-hart-multi",
    year=2003,
    field=FIELD,
    source="Hall, Carr & Hart 2003, Section 4",
    summary="b iterations of the inner loop per pass, the four quadrants in one RGBA texel",
    lacked="loops, and any storage wider than four channels",
    build=hall_carr_hart_multi,
)
