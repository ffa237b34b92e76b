"""Methods measured against one another and against their peers on the same product.

Computing alone is timed: an executor's `Timings.compute_s`, a library's product on operands
that are on its device already. Every run of an executor packs and uploads its operands first, while
a GPU idles; so an executor's times on a GPU are those of a single product, and show a clock that
drops while the GPU idles. A library's runs follow one another closely. Entrants may also be of
whole calls, with all of that in their times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure import engine
from gpgpu_legacy.measure.bench.record import Bench, Result, Skipped
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.entrants import Entrant
from gpgpu_legacy.measure.jobs import Listener, Measured, NotRun, Outcome
from gpgpu_legacy.measure.platform import settings, this_platform, versions
from gpgpu_legacy.measure.products import Checked, Products
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.serial import as_record, provenance


def count_steps(entered: Sequence[Entrant], sizes: Iterable[int], repeat: int) -> int:
    """How often `measure` reports progress."""
    return len(entered) * len(set(sizes)) * (repeat + 1)


def measure(
    entered: Sequence[Entrant],
    sizes: Iterable[int],
    repeat: int,
    budget: Budget,
    *,
    seed: int = 0,
    whole: bool = False,
    progress: Callable[[str], object] = lambda _: None,
    save: Callable[[Bench], object] = lambda _: None,
) -> Bench:
    """Measure all entrants at all sizes, the smallest first, on random n×n matrices.

    repeat: rounds at each size. whole: whether the entrants are of whole calls.
    progress: called with a description, `count_steps` times. save:
    called with the results so far whenever there are new ones, and with all of them at the end.
    Raises InputError for a size or a number of rounds below 1.
    """
    wanted = sorted(set(sizes))
    if not wanted or wanted[0] < 1:
        raise InputError(f"the size is {wanted[0] if wanted else 0}; it must be at least 1")
    rounds, products = Rounds(repeat), Products(seed)
    platform, packages = this_platform(), versions()

    def bench(measured: Measured[Entrant, Checked]) -> Bench:
        return as_record(
            Bench,
            platform,
            measured,
            **provenance(platform.driver),
            versions=packages,
            settings=settings(),
            whole=whole,
            seed=seed,
            repeat=repeat,
            budget_s=budget.seconds,
            results=tuple(_result(outcome) for outcome in measured.outcomes),
            not_run=tuple(_skipped(entry) for entry in measured.not_run),
        )

    jobs = [
        products.job(entrant, size, str(entrant), entrant.on_operands)
        for size in wanted
        for entrant in entered
    ]
    listener: Listener[Entrant, Checked] = Listener(
        progress, lambda measured: save(bench(measured))
    )
    result = bench(engine.measure(jobs, budget, rounds, listener=listener))
    save(result)
    return result


def _result(outcome: Outcome[Entrant, Checked]) -> Result:
    entrant, size = outcome.job.series, outcome.job.size
    error = outcome.checked.max_relative_error
    return as_record(
        Result,
        entrant,
        outcome,
        peer=entrant.is_peer,
        size=size,
        accumulate=entrant.accumulate and entrant.accumulate.value,
        runs=len(outcome.samples),
        first_run=outcome.is_first_run,
        gflops=Shape(size, size, size).gflops(outcome.seconds),
        max_relative_error=error if np.isfinite(error) else None,
        rows_checked=outcome.checked.rows,
    )


def _skipped(entry: NotRun[Entrant, Checked]) -> Skipped:
    entrant = entry.job.series
    return as_record(
        Skipped,
        entrant,
        entry,
        size=entry.job.size,
        accumulate=entrant.accumulate and entrant.accumulate.value,
    )
