"""The rooflines of this machine: its executors' rates, and the methods' times, both measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.chips.profile import Profile, calibrated, calibrated_name
from gpgpu_legacy.measure.bench.model import measure
from gpgpu_legacy.measure.bench.record import Bench
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.calibration.model import calibrate
from gpgpu_legacy.measure.calibration.model import count_steps as steps_of_calibration
from gpgpu_legacy.measure.entrants import Entrant, entrant_of
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.studies.roofline.model import bounds

RUNS = 5
"""Rounds of a calibration, and of the methods."""


@dataclass(frozen=True, slots=True)
class Here:
    """What was measured. profiles: of the executors, each kept by `calibrate` or measured now."""

    profiles: tuple[Profile, ...]
    bench: Bench


def measure_here(
    executors: Sequence[Executor],
    size: int,
    budget: Budget,
    progress: Callable[[str], object] = lambda _: None,
) -> Here:
    """Measure every method on n×n matrices, and the rates of the executors that have none kept.

    executors: those that are measured. budget: calibrations take half of it at most, each a share.
    progress: called with a description of what was measured.
    """
    rates = {p.executor: p for p in calibrated() if p.name == calibrated_name(p.executor or "")}
    missing = [executor for executor in executors if executor.name not in rates]
    half = budget.share(2)
    for number, executor in enumerate(missing):
        share = half.share(len(missing) - number)
        found = calibrate(executor, runs=RUNS, budget=share, progress=progress)
        rates[executor.name] = found.profile
    entered = [
        entrant for executor in executors for entrant in _entrants(executor, rates[executor.name])
    ]
    bench = measure(entered, [size], RUNS, budget, progress=progress)
    return Here(tuple(rates[executor.name] for executor in executors), bench)


def count_steps(executors: Sequence[Executor]) -> int:
    """How often `measure_here` reports progress, at most."""
    of_methods = len(methods()) * (1 + RUNS)
    return len(executors) * (steps_of_calibration(RUNS) + of_methods)


def _entrants(executor: Executor, profile: Profile) -> Iterator[Entrant]:
    """The methods that the executor runs, as far as its rates bound their times."""
    for product in bounds(profile, 1):
        method = find_method(product.method)
        plan = method.plan(Shape(1, 1, 1), Options())
        has_bound = predict(plan, profile).compute_seconds is not None
        if has_bound and plan.kinds <= executor.capabilities.passes:
            yield entrant_of(method, Options(), executor)
