"""Small products that studies draw: their matrices, and checks of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.command.options import Argument
from gpgpu_legacy.api.command.words import ExecutorName, RunJob, split
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_operands, sample_inputs
from gpgpu_legacy.pipeline.storage import Sample
from gpgpu_legacy.predict.auto import executor_for
from gpgpu_legacy.present.grid import Result
from gpgpu_legacy.runtime.machine import Machine

R = TypeVar("R")

EXACT = Machine(exact=True, denormals=False)
"""Pictures are the same on every machine: nothing is contracted or reordered."""


class ShownFactors(Result):
    """A product that a picture shows. a, b: the operands."""

    a: F32
    b: F32

    @property
    def sizes(self) -> str:
        """The sizes of the operands, as text."""
        return "{}×{} times {}×{}".format(*self.a.shape, *self.b.shape)


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

    largest: the most rows or columns. given: the user's matrices, if any. own: the picture's, used
    if none are given, there is no seed and the product has their sizes. seed: of random matrices,
    used otherwise. free: the parameters that users may choose, besides the sizes. sample: makes the
    random matrices. Raises InputError for other parameters, and for matrices that are too large, or
    do not fit.
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
    return sample_inputs(p.plan(), dict.fromkeys(own, sample) if sample else {}, seed or 0)


def check_parameters(p: PlanBuilder, free: Container[str]) -> None:
    """Raise InputError if a parameter that is not `free` differs from its default."""
    known = find_product(p.name).parameters
    for name, value in p.parameters.items():
        if name not in free and value != known[name].plain_default:
            raise InputError(f"{name} is the method's own here; leave {name} = {value} out")


@frozen
class ShownProduct:
    """The product that a picture shows."""

    words: Annotated[
        tuple[str, ...],
        Argument(
            "[NAME=VALUE]...",
            "Matrices as in A=a.npy B=b.npy, sizes as in n=3 m=2, and the method's parameters.",
        ),
    ] = ()
    seed: Annotated[
        int | None,
        "SEED",
        "Seed of random matrices (default: the picture's own, where these fit).",
    ] = None
    executor: ExecutorName = "auto"

    def given_to(self, demonstrate: Callable[..., R], method: str) -> R:
        """The result of `demonstrate` for this product, 4×4 unless the words give a size."""
        whats, given = split(self.words)
        if whats:
            raise InputError(f"{whats[0]} is neither a matrix nor a parameter; write NAME=VALUE")
        own = () if given.keys() & {"n", "A", "B"} else ("n=4",)
        p, arrays = RunJob((method, *own, *self.words)).built
        return demonstrate(executor_for(self.executor, p.plan()), p, arrays, self.seed)
