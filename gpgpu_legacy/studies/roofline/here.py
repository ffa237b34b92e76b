"""The rooflines of this machine: its executors' rates, and the methods' times, both measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.chips.profile import Profile, calibrated, calibrated_name
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.benchmark import Benchmark, Case
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.calibration.model import calibrate, profile_of
from gpgpu_legacy.measure.calibration.model import count_steps as steps_of_calibration
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.runtime.executor import Executor

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
        rates[executor.name] = profile_of(executor, found)
    cases = []
    for method in products():
        small = method.plan(n=1)
        able = [
            executor.name
            for executor in executors
            if small.kinds <= executor.capabilities.passes
            and predict(small, rates[executor.name]).compute_seconds is not None
        ]
        cases += [Case(method.builder(n=size), executors=able)] * bool(able)
    bench = Benchmark(cases, peers=(), rounds=Rounds(RUNS)).measure(budget, progress)
    return Here(tuple(rates[executor.name] for executor in executors), bench)


def count_steps(executors: Sequence[Executor]) -> int:
    """How often `measure_here` reports progress, at most."""
    of_methods = len(products()) * (1 + RUNS)
    return len(executors) * (steps_of_calibration(RUNS) + of_methods)
