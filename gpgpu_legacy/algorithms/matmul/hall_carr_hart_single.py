"""Hall, Carr & Hart 2003, Section 3: the single-channel method, with one element per texel."""

from __future__ import annotations

from functools import partial

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK, build, load_listing
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
from gpgpu_legacy.plan.formats import R32F


def hall_carr_hart_single(
    sizes: Sizes,
    stored: Stored,
    block: Block = DEFAULT_BLOCK,
    accumulate: AccumulateBy = Accumulate.COPY,
    coordinates_first: CoordinatesFirst = None,
) -> PlanBuilder:
    """One element in a texel; b steps of the sum in each pass."""
    program = load_listing("single", check_block(block, stored), accumulate, coordinates_first)
    layout = Layout(1, block, R32F, stored)
    name = ALGORITHM.name
    multiply = partial(build, name, program, layout, accumulate=accumulate)
    return product(name, sizes, multiply, stored)


ALGORITHM = Algorithm(
    name="hall-carr-hart-single",
    year=2003,
    field=FIELD,
    source="Hall, Carr & Hart 2003, Section 3",
    summary="b iterations of the inner loop per pass, one element per texel",
    lacked="loops, long programs, a way to read the framebuffer while drawing",
    build=hall_carr_hart_single,
)
