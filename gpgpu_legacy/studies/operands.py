"""The matrices of small products that studies show, and the parameters that they leave alone."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import InputError, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_operands, sample_inputs
from gpgpu_legacy.pipeline.storage import Sample
from gpgpu_legacy.runtime.machine import Machine

EXACT = Machine(exact=True, denormals=False)
"""Pictures are the same on every machine: nothing is contracted or reordered."""


def matrices_for(
    p: PlanBuilder,
    largest: int,
    given: Mapping[str, ArrayLike] | None,
    own: Mapping[str, ArrayLike],
    *,
    seed: int | None,
    free: Sequence[str] = (),
    sample: Sample | None = None,
) -> dict[str, F32]:
    """A and B of a product that a picture shows, by name.

    largest: number of rows or columns. own: the picture's, used if nothing is given and the product
    has their sizes. sample: makes matrices of other sizes, and of any size if there is a seed.
    free: the parameters that users may choose, besides the sizes. Raises InputError for other
    parameters, and for matrices that are too large, or do not fit.
    """
    check_parameters(p, {"m", "l", "n", *free})
    shapes = {name: matrix.array_shape for name, matrix in p.operands.items()}
    for name, shape in shapes.items():
        if max(shape) > largest:
            raise InputError(
                f"{name} is {shape_in_words(shape)}; the picture shows matrices of at most "
                f"{largest} rows and columns"
            )
    fits = all(shapes[name] == np.shape(matrix) for name, matrix in own.items())
    if given or (seed is None and fits):
        return as_operands(p.plan(), given or own)
    samples = {} if sample is None else dict.fromkeys(own, sample)
    return sample_inputs(p.plan(), samples, seed or 0)


def check_parameters(p: PlanBuilder, free: Container[str]) -> None:
    """Raise InputError if a product has parameters other than these, which a study does not use."""
    known = find_product(p.name).parameters
    for name, value in p.parameters.items():
        if name not in free and value != known[name].plain_default:
            raise InputError(f"{name} is the method's own here; leave {name} = {value} out")
