"""The methods of the tables of formulas, timed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.engine import measure
from gpgpu_legacy.measure.jobs import Job, Listener, Outcome, count_steps
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.papers.derive.inputs import Product
from gpgpu_legacy.papers.formulas.model import methods_of_tables
from gpgpu_legacy.papers.runs import product_job
from gpgpu_legacy.runtime.prepared import Timings
from gpgpu_legacy.runtime.registry import able, find_executor

ROUNDS = Rounds(count=3, most_runs=1, longest_s=1.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """A method on an executor here.

    seconds: of its passes alone, the median of its runs. gflops: 2n³ operations over the seconds.
    gigabytes_per_s: GB (10⁹ bytes) that its instructions request, over the seconds. Both rates are
    None where the seconds are 0. first_run: whether the seconds are of a single run, the first.
    """

    method: str
    executor: str
    device: str
    seconds: float
    gflops: float | None
    gigabytes_per_s: float | None
    first_run: bool = False


@dataclass(frozen=True, slots=True)
class NotRun:
    """A method that was not run on an executor, and why."""

    method: str
    executor: str
    reason: str


@dataclass(frozen=True, slots=True)
class MethodTimes:
    """What was measured, by method and executor.

    busy_share: the part of the processors' time that other processes took meanwhile, from 0 to 1;
    None where it is not known.
    """

    measured: tuple[Measured, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    busy_share: float | None = None


NOTHING_TIMED = MethodTimes()

_Run = tuple[str, str]  # a method's name and an executor's


def count_runs(size: int, block: int) -> int:
    """How often `time_methods` reports progress."""
    return count_steps(_jobs(size, block), ROUNDS)


def time_methods(
    size: int,
    block: int,
    budget: Budget | None = None,
    *,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> MethodTimes:
    """Time every method of the tables on every executor that works here, on random n×n matrices.

    budget: for all of it; without one everything is run. Raises InputError where the size or the
    block is out of range.
    """
    jobs = _jobs(size, block, seed)
    listener = Listener[_Run, list[Timings]](progress or (lambda _: None))
    results = measure(jobs, budget or Budget(inf), ROUNDS, listener=listener)
    return MethodTimes(
        tuple(_measured(outcome, block) for outcome in results.outcomes),
        tuple(NotRun(*left.job.series, left.reason) for left in results.not_run),
        results.busy_share,
    )


def _jobs(size: int, block: int, seed: int = 0) -> list[Job[_Run, list[Timings]]]:
    as_positive("the size", size)
    return [
        product_job(
            (name, executor.name),
            name,
            Product(name, size, block).options,
            size,
            executor,
            seed=seed,
        )
        for name in methods_of_tables()
        for executor in able(Product(name, size, block).plan)
    ]


def _measured(outcome: Outcome[_Run, list[Timings]], block: int) -> Measured:
    method, executor = outcome.job.series
    size, seconds = outcome.job.size, outcome.seconds
    requested = Product(method, size, block).counts.bytes_requested
    return Measured(
        method,
        executor,
        find_executor(executor).device(),
        seconds,
        Shape(size, size, size).gflops(seconds),
        1e-9 * requested / seconds if seconds > 0.0 else None,
        outcome.is_first_run,
    )
