"""Products of the papers' sizes as jobs of the measuring engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.operands import random_operands
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.measure.jobs import Job, K, Ready
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.prepared import Timings


def product_job(
    series: K,
    method_name: str,
    options: Options,
    size: int,
    executor: Executor,
    *,
    expected_s: float | None = None,
    seed: int = 0,
) -> Job[K, list[Timings]]:
    """A product of random n×n matrices by a method on an executor.

    series, expected_s: the job's. Its check gives the timings of its runs in order, in a list that
    further runs add to; probes of other sizes are not in it.
    """
    method = find_method(method_name)
    chosen = method.options(options)
    timings: list[Timings] = []

    @contextmanager
    def open_at(at: int) -> Iterator[Ready[list[Timings]]]:
        shape = Shape(at, at, at)
        operands = dict(zip(("A", "B", "C0"), random_operands(shape, chosen, seed), strict=False))

        def run() -> float:
            taken = prepared.run(operands).timings
            if at == size:
                timings.append(taken)
            return taken.compute_s

        with executor.prepare(method.plan(shape, chosen)) as prepared:
            yield Ready(run, lambda: timings)

    label = f"{method.name} on {executor.name}"
    return Job(series, size, label, open_at, expected_s)
