"""Products of random matrices as jobs for the engine, each checked against float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.options import Options
from gpgpu_legacy.algorithms.matmul.options import Shape as OldShape
from gpgpu_legacy.algorithms.matmul.product import FIELD, Shape, Stored
from gpgpu_legacy.algorithms.operands import random_operands
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.jobs import Job, K, Ready
from gpgpu_legacy.measure.peers import OnOperands
from gpgpu_legacy.measure.rounds import WARM_S, wait_for_rest, warm_up
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.formats import R32F

WHOLE_CHECK, ROWS_CHECKED = 1024, 64  # up to which n every row is checked, and how many above
_SIZES_KEPT = 8  # of operands: those of a size and of its probes


@dataclass(frozen=True)
class Checked:
    """A product held against float64.

    max_relative_error: the largest |C - C64| over the largest |C64|, NaN where a NaN took part.
    rows: how many rows were compared.
    """

    max_relative_error: float
    rows: int


class Task:
    """Two n×n matrices in float32, and their product in float64."""

    def __init__(self, size: int, seed: int) -> None:
        """Random matrices, the same for the same seed."""
        shape, options = OldShape(size, size, size), Options(texture_format=R32F.name)
        self.a, self.b = random_operands(shape, options, seed)

    @cached_property
    def rows(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The rows that are checked: all, or some at random where the matrices are large."""
        size = len(self.a)
        if size <= WHOLE_CHECK:
            return np.arange(size)
        return np.random.default_rng(size).choice(size, ROWS_CHECKED, replace=False)

    @cached_property
    def _exact(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return self.a[self.rows].astype(np.float64) @ self.b.astype(np.float64)

    def check(self, product: F32) -> Checked:
        """How far a product in float32 is from the one in float64."""
        with np.errstate(all="ignore"):
            difference = float(np.max(np.abs(product[self.rows] - self._exact)))
        return Checked(difference / float(np.max(np.abs(self._exact))), len(self.rows))


class Products:
    """Jobs that multiply random n×n matrices. Those of one size share their operands."""

    def __init__(self, seed: int) -> None:
        """seed: of all matrices."""
        self.task = lru_cache(maxsize=_SIZES_KEPT)(lambda size: Task(size, seed))

    def job(self, series: K, size: int, label: str, on_operands: OnOperands) -> Job[K, Checked]:
        """A job that multiplies two n×n matrices."""

        @contextmanager
        def open_at(at: int) -> Iterator[Ready[Checked]]:
            task = self.task(at)
            with on_operands(task.a, task.b) as one_run:
                products: list[F32] = []
                last_s = inf

                def run() -> float:
                    nonlocal last_s
                    seconds, product = one_run()
                    products[:], last_s = [product], seconds
                    return seconds

                def settle() -> None:
                    wait_for_rest()
                    if last_s < WARM_S:
                        warm_up(run)

                yield Ready(run, lambda: task.check(products[0]), settle)

        return Job(series, size, label, open_at)


@dataclass(frozen=True)
class Product:
    """The product A·B that a pipeline computes. stored: which of the two is given transposed."""

    shape: Shape
    stored: Stored

    def factors(self, inputs: Mapping[str, F32]) -> tuple[F32, F32]:
        """A and B as they are multiplied."""
        a, b = self.stored.turned(inputs["A"], inputs["B"])
        return a, b


def product_of(p: PlanBuilder) -> Product | None:
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
    return Product(Shape(**sides), Stored(*turned))
