"""The methods of the tables of formulas, timed here."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from gpgpu_legacy.errors import as_positive
from gpgpu_legacy.measure.engine import JobOutcome, MeasuredJob, count_steps, measure
from gpgpu_legacy.measure.timing import Budget
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.formulas.model import methods_of_tables
from gpgpu_legacy.papers.formulas.result import ROUNDS, MethodNotRun, MethodTime, MethodTimes
from gpgpu_legacy.papers.runs import product_job
from gpgpu_legacy.runtime.executor import able, find_executor

_Run = tuple[str, str]  # a method's name and an executor's


def count_runs(size: int, block: int) -> int:
    """The number of progress reports of `time_methods`."""
    return count_steps(_jobs(size, block), ROUNDS)


def time_methods(
    size: int,
    block: int,
    budget: Budget | None = None,
    *,
    progress: Callable[[str], object] = lambda _: None,
) -> MethodTimes:
    """Time every method of the tables on every executor that works here, on random n×n matrices.

    budget: for all of it; without one everything is run. Raises InputError if the size or the block
    is out of range.
    """
    jobs = _jobs(size, block)
    results = measure(jobs, budget or Budget(inf), ROUNDS, progress=progress)
    left_out = [(*left.job.series, left.reason) for left in results.not_run]
    return MethodTimes(
        measured=tuple(_measured(outcome, block) for outcome in results.outcomes),
        not_run=tuple(MethodNotRun(method=m, executor=e, reason=why) for m, e, why in left_out),
        busy_share=results.busy_share,
    )


def _jobs(size: int, block: int) -> list[MeasuredJob]:
    as_positive("the size", size)
    products = [Product(name, size, block) for name in methods_of_tables()]
    return [
        product_job((product.method, executor.name), product, executor)
        for product in products
        for executor in able(product.plan)
    ]


def _measured(outcome: JobOutcome, block: int) -> MethodTime:
    method, executor = outcome.job.series
    size, seconds = outcome.job.size, outcome.seconds
    requested = Product(method, size, block).counts.bytes_requested
    per_s = 1e-9 / seconds if seconds > 0.0 else None
    return MethodTime(
        method=method,
        executor=executor,
        device=find_executor(executor).device(),
        seconds=seconds,
        gflops=None if per_s is None else 2 * size**3 * per_s,
        gigabytes_per_s=None if per_s is None else requested * per_s,
        first_run=outcome.is_first_run,
    )
