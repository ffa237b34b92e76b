"""The work to measure: products of matrices, and the equivalent size of any other plan.

The engine expects that a run of size n takes seconds that grow with n³, as a product of n×n
matrices does. So the size of a plan is the cube root of its work. A smaller size is probed with a
smaller product, or with the beginning of a plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import cbrt, ceil
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.product import FIELD, Shape, Stored
from gpgpu_legacy.count.traffic import count_repeated
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.reference import F64
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.numbers import Table
from gpgpu_legacy.plan.plan import (
    ComputePass,
    Pass,
    Plan,
    Repeat,
    Step,
    moves,
    per_iteration_numbers,
    varies,
)

WHOLE_CHECK, ROWS_CHECKED = 1024, 64  # up to how many rows each is checked, and how many above


@frozen
class PipelineProduct:
    """The product A·B that a pipeline computes. stored: which of the two is given transposed."""

    shape: Shape
    stored: Stored

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by the names that parameters have; n alone where all are equal."""
        shape = self.shape
        square = {"n": shape.n}
        return square if shape.is_square else {"m": shape.m, "l": shape.l, **square}

    @property
    def parameters(self) -> dict[str, Any]:
        """The work, by the names of parameters."""
        return {
            **self.sizes,
            "transpose_a": self.stored.transpose_a,
            "transpose_b": self.stored.transpose_b,
        }

    @property
    def size(self) -> int:
        """N of the n×n product that is as much work."""
        return self.shape.n if self.shape.is_square else _size(self.shape.multiply_adds)

    def scaled(self, size: int) -> dict[str, int]:
        """The sizes of a product that is as much work as one of that size."""
        factor = size / self.size
        return {name: max(1, round(factor * getattr(self.shape, name))) for name in "mln"}

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
    """The rows that are checked, and how many: all (None), or some at random of many."""
    count = product.shape.m
    if count <= WHOLE_CHECK:
        return slice(None), None
    generator = np.random.default_rng(product.size)
    return generator.choice(count, ROWS_CHECKED, replace=False), ROWS_CHECKED


# Any plan ----------------------------------------------------------------------------------------

ZERO = (0.0, 0.0, 0.0, 0.0)
WORD_BYTES = 4  # of what copies and clears move; a word counts as an instruction


def size_of(plan: Plan) -> int:
    """The size of a plan for the engine."""
    return _size(sum(_work(plan, pass_, count) for count, pass_ in plan.weighted_passes()))


def least_size(plan: Plan) -> int:
    """The size of the smallest plan that `beginning` gives."""
    return _size(next((work for work, _, _ in _portions(plan)), 0.0))


def beginning(plan: Plan, size: int) -> Plan:
    """The first passes of a plan, as many as fit that size, but at least one.

    Of a Repeat, whole iterations. Textures that the rest would have defined are 0.
    """
    left, steps = float(size**3), list[Step]()
    for work, count, step in _portions(plan):
        fit = count if work * count <= left else int(left // work)
        if not steps:
            fit = max(1, fit)
        steps += _repeated(step, fit)
        left -= work * fit
        if fit < count or left < 0.0:
            break
    textures = tuple(
        t if t.format.is_depth else replace(t, initial=t.initial or ZERO) for t in plan.textures
    )
    return replace(plan, steps=tuple(steps), textures=textures)


def _portions(plan: Plan) -> Iterator[tuple[float, int, Step]]:
    """Steps in order: the work of one, how often it is repeated, and the step itself.

    A Repeat with Tables or moving rectangles is given an iteration at a time, others whole.
    """
    for step in plan.steps_at_most:
        if not isinstance(step, Repeat):
            yield _work(plan, step), 1, step
        elif step.count and not _changes_work(step):
            yield sum(_work(plan, at_iteration(p, 0)) for p in step.body), step.count, step
        else:
            for iteration in range(step.count):
                body = tuple(at_iteration(pass_, iteration) for pass_ in step.body)
                yield sum(_work(plan, pass_) for pass_ in body), 1, Repeat(1, body)


def _changes_work(step: Repeat) -> bool:
    """Whether iterations may differ in work; a kernel's loops may depend on any uniform."""
    return any(moves(p) or (isinstance(p, ComputePass) and varies(p)) for p in step.body)


def _repeated(step: Step, count: int) -> tuple[Step, ...]:
    """The first iterations of a step."""
    if not isinstance(step, Repeat) or count == step.count:
        return (step,) if count else ()
    numbers = (number for pass_ in step.body for number in per_iteration_numbers(pass_))
    if not any(isinstance(number, Table) for number in numbers):
        return (Repeat(count, step.body),) if count else ()
    return tuple(at_iteration(pass_, i) for i in range(count) for pass_ in step.body)


def _work(plan: Plan, pass_: Pass, count: int = 1) -> float:
    """Instructions over all fragments or invocations and iterations, and one more for each."""
    try:
        counts = count_repeated(plan, pass_, count)
    except PlanError:  # a kernel whose loops depend on data
        assert isinstance(pass_, ComputePass)
        dispatches = (at_iteration(pass_, iteration) for iteration in range(count))
        return float(sum(d.invocations for d in dispatches if isinstance(d, ComputePass)))
    executed = counts.arithmetic + counts.lookup + counts.kill
    accesses = (
        counts.global_loads + counts.global_stores + counts.shared_loads + counts.shared_stores
    )
    moved = (counts.copy_bytes + counts.clear_bytes) / WORD_BYTES
    return executed + accesses + moved + counts.fragments + counts.invocations


def _size(work: float) -> int:
    return max(1, ceil(cbrt(work)))
