"""Products of random matrices as jobs for the engine, each checked against float64."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf

import numpy as np

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.operands import random_operands
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.jobs import Job, K, Ready
from gpgpu_legacy.measure.peers import OnOperands
from gpgpu_legacy.measure.rounds import WARM_S, wait_for_rest, warm_up
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
        shape, options = Shape(size, size, size), Options(texture_format=R32F.name)
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
