"""Matrices that a picture of a product can show: given, the picture's own, or random."""

from __future__ import annotations

from collections.abc import Container, Mapping

from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.arguments import shape_in_words
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_operands, sample_inputs
from gpgpu_legacy.pipeline.storage import Sample


def matrices_for(
    p: PlanBuilder,
    given: Mapping[str, ArrayLike],
    own: Mapping[str, ArrayLike],
    samples: Mapping[str, Sample],
    *,
    seed: int | None,
    largest: int,
) -> dict[str, F32]:
    """A and B of a product that a picture shows, by name.

    own: the picture's, where nothing is given and the product has their sizes. samples: make those
    of other sizes, and of any size where there is a seed. largest: the most rows and columns.
    Raises InputError for larger ones, and for those that do not fit the product.
    """
    shapes = {name: matrix.array_shape for name, matrix in p.operands.items()}
    for name, shape in shapes.items():
        if not all(1 <= size <= largest for size in shape):
            raise InputError(
                f"{name} is {shape_in_words(shape)}; the picture shows matrices of 1 to {largest} "
                "rows and columns"
            )
    plan = p.plan()
    if given:
        return as_operands(plan, given)
    side = len(own["A"])  # type: ignore[arg-type]
    if seed is None and {*shapes.values()} == {(side, side)}:
        return as_operands(plan, own)
    return sample_inputs(plan, samples, seed or 0)


def refuse_others(p: PlanBuilder, method: Algorithm, names: Container[str]) -> None:
    """InputError for a parameter, other than these, that is not the method's default."""
    for name, value in p.parameters.items():
        if name not in names and value != method.parameters[name].plain_default:
            raise InputError(f"{name} is the method's own here; leave {name} = {value} out")
