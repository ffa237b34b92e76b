"""The product by every method, in the order of history, on one machine."""

from __future__ import annotations

from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.benchmark import Benchmark, tuned
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.runtime.registry import AUTO
from gpgpu_legacy.serial import as_record
from gpgpu_legacy.studies.lineage.result import Lineage

QUICK_S = 2.0  # a job that takes longer is run once
ROUNDS = Rounds(3, round_s=0.25, most_runs=50, longest_s=QUICK_S)


def benchmark_of(n: int, seed: int = 0, executor: str = AUTO) -> Benchmark:
    """Every method on random n×n matrices, in turn with the libraries that are its ceiling.

    executor: the one to run all methods on; `auto` chooses for each. Raises InputError for a size
    below 1 and for an executor that cannot run a method.
    """
    as_positive("the size", n)
    cases = [tuned(method.builder(n=n), executor) for method in products()]
    return Benchmark(cases, rounds=ROUNDS, seed=seed)


def lineage_of(bench: Bench) -> Lineage:
    """A benchmark of every method as a lineage."""
    return as_record(Lineage, bench)
