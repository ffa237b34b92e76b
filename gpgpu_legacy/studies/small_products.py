"""Matrices that a picture of a product can show: given, the picture's own, or random."""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.arguments import shape_in_words
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_operands, sample_inputs
from gpgpu_legacy.pipeline.storage import Sample


def require_small(p: PlanBuilder, largest: int) -> None:
    """InputError for a product of more rows or columns than a picture shows."""
    for name, matrix in p.operands.items():
        if not all(1 <= size <= largest for size in matrix.array_shape):
            raise InputError(
                f"{name} is {shape_in_words(matrix.array_shape)}; the picture shows matrices of 1 "
                f"to {largest} rows and columns"
            )


def matrices_for(
    p: PlanBuilder,
    given: Mapping[str, ArrayLike],
    own: Mapping[str, ArrayLike],
    samples: Mapping[str, Sample],
    seed: int | None,
) -> dict[str, F32]:
    """A and B of a product that a picture shows, by name.

    own: the picture's, where nothing is given and the product has their sizes. samples: make those
    of other sizes, and of any size where there is a seed. Raises InputError for matrices that do
    not fit the product.
    """
    if given:
        return as_operands(p.plan(), given)
    fits = all(p.operands[name].array_shape == np.shape(matrix) for name, matrix in own.items())
    if seed is None and fits:
        return as_operands(p.plan(), own)
    return sample_inputs(p.plan(), samples, seed or 0)


def refuse_others(p: PlanBuilder, method: Algorithm, names: Container[str]) -> None:
    """InputError for a parameter, other than these, that is not the method's default."""
    for name, value in p.parameters.items():
        if name not in names and value != method.parameters[name].plain_default:
            raise InputError(f"{name} is the method's own here; leave {name} = {value} out")
