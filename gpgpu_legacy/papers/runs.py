"""Products of the papers' sizes as jobs of the measuring engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gpgpu_legacy.measure.engine import MeasuredJob, Ready
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.prepared import Timings


def product_job(series: Any, product: Product, executor: Executor) -> MeasuredJob:
    """A product of random n×n matrices on an executor.

    series: the job's. Its check gives the timings of its runs in order, in a list that further runs
    add to; probes of other sizes are not in it.
    """
    timings: list[Timings] = []

    @contextmanager
    def open_at(at: int) -> Iterator[Ready]:
        p = replace(product, size=at).builder
        plan = p.plan()
        operands = sample_inputs(plan, p.samples)

        def run() -> float:
            taken = prepared.run(operands).timings
            if at == product.size:
                timings.append(taken)
            return taken.compute_s

        with executor.prepare(plan) as prepared:
            yield Ready(run, lambda: timings)

    label = f"{product.method} on {executor.name}"
    return MeasuredJob(series, product.size, label, open_at)
