"""The work to measure: products of matrices, and the equivalent size of any other plan.

The engine expects that a run of size n takes seconds that grow with n³, as a product of n×n
matrices does. So the size of a plan is the cube root of its work.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import cbrt, ceil
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.product import FIELD, Shape, Stored
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import F64
from gpgpu_legacy.plan.plan import Plan

WHOLE_CHECK, ROWS_CHECKED = 1024, 64  # up to so many rows all are checked; above, so many


@frozen
class PipelineProduct:
    """The product A·B that a pipeline computes. stored: which of the two is given transposed."""

    shape: Shape
    stored: Stored

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by the names of parameters; n alone if all are equal."""
        shape = self.shape
        square = {"n": shape.n}
        return square if shape.is_square else {"m": shape.m, "l": shape.l, **square}

    @property
    def parameters(self) -> dict[str, Any]:
        """The sizes and transpositions, by the names of parameters."""
        return {
            **self.sizes,
            "transpose_a": self.stored.transpose_a,
            "transpose_b": self.stored.transpose_b,
        }

    @property
    def size(self) -> int:
        """The n of the n×n product with as much work."""
        return self.shape.n if self.shape.is_square else _size(self.shape.multiply_adds)

    def factors(self, inputs: Mapping[str, F32]) -> tuple[F32, F32]:
        """A and B as they are multiplied."""
        a, b = self.stored.turned(inputs["A"], inputs["B"])
        return a, b

    def exact(self, inputs: Mapping[str, F32], rows: Any) -> F64:
        """These rows of the product in float64."""
        a, b = self.factors(inputs)
        product: F64 = a[rows].astype(np.float64) @ b.astype(np.float64)
        return product


def product_of(p: PlanBuilder) -> PipelineProduct | None:
    """The product that a pipeline computes; None for one that computes anything else."""
    if p.family is None or p.family[0].field != FIELD:
        return None
    given = p.parameters
    if given.get("alpha") != 1.0 or given.get("beta") is not None:
        return None
    sides: dict[str, Any] = {
        name: given["n"] if given.get(name) is None else given[name] for name in "mln"
    }
    turned = (bool(given.get(f"transpose_{name}")) for name in "ab")
    return PipelineProduct(Shape(**sides), Stored(*turned))


def rows_checked(product: PipelineProduct) -> tuple[Any, int | None]:
    """The rows to check, and their number: all (None), or some at random if there are many."""
    count = product.shape.m
    if count <= WHOLE_CHECK:
        return slice(None), None
    generator = np.random.default_rng(product.size)
    return generator.choice(count, ROWS_CHECKED, replace=False), ROWS_CHECKED


# Any plan ----------------------------------------------------------------------------------------

WORD_BYTES = 4  # of what copies and clears move; a word counts as an instruction


def size_of(plan: Plan) -> int:
    """The size of a plan for the engine: from its instructions, accesses, words and fragments."""
    try:
        counts = count_plan(plan)
    except PlanError:  # a kernel whose loops depend on data
        return _size(plan.texture_bytes)
    executed = counts.arithmetic + counts.lookup + counts.kill
    moved = (counts.copy_bytes + counts.clear_bytes) / WORD_BYTES
    return _size(executed + counts.accesses + moved + counts.fragments + counts.invocations)


def _size(work: float) -> int:
    return max(1, ceil(cbrt(work)))
