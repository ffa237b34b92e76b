"""The product by every method, in the order of history, on one machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.measure.bench import Bench, Timed
from gpgpu_legacy.measure.benchmark import Benchmark, Case, tuned
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.other_work import busy_warning
from gpgpu_legacy.measure.peers import Library, libraries
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.predict.auto import MANY, executor_for
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.registry import AUTO
from gpgpu_legacy.serial import as_record, provenance
from gpgpu_legacy.studies.lineage.result import Ceiling, Lineage, Step

QUICK_S = 2.0  # a job that takes longer is run once
ROUNDS = Rounds(3, round_s=0.25, most_runs=50, longest_s=QUICK_S)


@dataclass(frozen=True, slots=True)
class _Member:
    """A method on its executor, with what its plan asks for. ceiling: the library on its device."""

    algorithm: Algorithm
    case: Case
    executor: Executor
    counts: Counts
    ceiling: Library


class LineageStudy:
    """Every method on random n×n matrices, in turn with the libraries that are its ceiling."""

    def __init__(self, size: int, seed: int = 0, executor: str = AUTO) -> None:
        """executor: the one to run all methods on; `auto` chooses for each.

        A method's ceiling is that of the device it runs on: cuBLAS on a GPU, where there is torch
        or CuPy, else NumPy's BLAS. Raises InputError for a size below 1 and for an executor that
        cannot run a method.
        """
        self.size = as_positive("the size", size)
        self.libraries = list(libraries())
        self.members = [_member(one, size, executor, self.libraries) for one in products()]
        cases = [member.case for member in self.members]
        self.bench = Benchmark(cases, rounds=ROUNDS, seed=seed)

    @property
    def steps(self) -> int:
        """How often `measure` reports progress."""
        return self.bench.steps

    def measure(
        self,
        budget: Budget,
        progress: Callable[[str], object] = lambda _: None,
        save: Callable[[Lineage], object] = lambda _: None,
    ) -> Lineage:
        """Run all of them; see Benchmark.measure."""
        bench = self.bench.measure(budget, progress, lambda found: save(self._lineage(found)))
        return self._lineage(bench)

    def _lineage(self, bench: Bench) -> Lineage:
        results = {result.plan or result.executor: result for result in bench.results}
        reasons = {skipped.plan: skipped.reason for skipped in bench.not_run}
        is_busy = busy_warning(bench.busy_share) is not None
        ceilings = {
            library.name: self._ceiling(library, results, is_busy=is_busy)
            for library in self.libraries
            if library.name in results
        }
        return Lineage(
            **provenance(bench.driver),
            size=self.size,
            ceilings=tuple(ceilings.values()),
            steps=tuple(
                self._step(
                    member,
                    results.get(member.algorithm.name),
                    ceilings.get(member.ceiling.name),
                    reasons.get(member.algorithm.name),
                )
                for member in self.members
            ),
            busy_share=bench.busy_share,
        )

    def _ceiling(self, library: Library, results: Mapping[str, Timed], *, is_busy: bool) -> Ceiling:
        """The library's fastest sample, held against the methods on the same device."""
        fastest_s, _ = results[library.name].spread
        under = [m.algorithm.name for m in self.members if m.ceiling is library]
        is_passed = any(n in results and results[n].seconds < fastest_s for n in under)
        return Ceiling(
            name=library.title,
            device=library.device,
            gflops=2e-9 * self.size**3 / fastest_s if fastest_s > 0.0 else 0.0,
            disturbed=is_passed and is_busy,
        )

    def _step(
        self,
        member: _Member,
        result: Timed | None,
        ceiling: Ceiling | None,
        reason: str | None,
    ) -> Step:
        algorithm, counts, gflops = member.algorithm, member.counts, result and result.gflops
        fraction = None
        if gflops and ceiling and ceiling.gflops and not ceiling.disturbed:
            fraction = gflops / ceiling.gflops
        return as_record(
            Step,
            algorithm,
            counts,
            plan=algorithm.name,
            parameters=dict(member.case.pipeline.parameters),
            executor=member.executor.name,
            device=member.executor.device(),
            multiply_adds_per_byte=self.size**3 / counts.bytes_requested,
            seconds=result and result.seconds,
            spread=result and result.spread,
            runs=result and result.runs,
            first_run=result is not None and result.first_run,
            reason=reason,
            gflops=gflops,
            ceiling=member.ceiling.title,
            fraction_of_ceiling=fraction,
        )


def _member(algorithm: Algorithm, size: int, executor: str, here: Sequence[Library]) -> _Member:
    case = tuned(algorithm.builder(n=size), executor)
    plan = case.pipeline.plan()
    runner = executor_for(case.executors[0], plan, runs=MANY)
    host = next(library for library in here if not library.on_gpu)
    ceiling = next((library for library in here if library.on_gpu and runner.is_hardware()), host)
    return _Member(algorithm, case, runner, count_plan(plan), ceiling)
