"""A lineage: a benchmark of every method, shown in the order of history, beside its ceilings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import find_product, products
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.measure.bench import Bench, Run, Timed
from gpgpu_legacy.measure.benchmark import Benchmark, tuned
from gpgpu_legacy.measure.other_work import busy_notes, busy_warning
from gpgpu_legacy.measure.peers import TITLES
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import ComputePass
from gpgpu_legacy.present.grid import Entry, Grid
from gpgpu_legacy.present.result import Result
from gpgpu_legacy.runtime.registry import AUTO

R = TypeVar("R", bound=Run)

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


class Lineage(Bench):
    """Every method on n×n matrices, and the libraries that are their ceilings.

    A ceiling is that of the fastest sample: whatever disturbs a run makes it slower, so this one
    tells best what the library can do; on a busy machine the median may be a tenth of it.
    """

    WHAT = "a lineage that `gpgpu-legacy study lineage --output` recorded"

    @property
    def steps(self) -> list[Timed]:
        """The methods' results, in the order of history."""
        return _in_order(result for result in self.results if result.is_own)

    @property
    def libraries(self) -> list[Timed]:
        """The libraries' results."""
        return [result for result in self.results if result.plan is None]

    @property
    def size(self) -> str:
        """n, as text."""
        return str(next((run.parameters.get("n") for run in (*self.results, *self.not_run)), "?"))

    def is_disturbed(self, library: Timed) -> bool:
        """Whether a method was faster while other processes took much of the machine."""
        under = [step.seconds for step in self.steps if self.ceiling_of(step) is library]
        is_passed = any(seconds < library.spread[0] for seconds in under)
        return is_passed and busy_warning(self.busy_share) is not None

    def ceiling_of(self, step: Timed) -> Timed | None:
        """The library on a result's device, else the host's."""
        for library in self.libraries:
            if str(library.device).partition(",")[0] in str(step.device):
                return library
        return next(iter(self.libraries), None)

    def fraction(self, step: Timed) -> float | None:
        """A result's part of its ceiling; None where that was disturbed."""
        library = self.ceiling_of(step)
        if library is None or step.gflops is None or self.is_disturbed(library):
            return None
        return step.gflops / rate_of(library)

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A row for each method. whole: with what its hardware lacked."""
        heads = ("year", "method", "from", "multiply-adds / byte", "GFLOPS here", "of the ceiling",
                 "executor", *["what it lacked then"] * whole)  # fmt: skip
        runs = _in_order([*self.steps, *(skipped for skipped in self.not_run if skipped.plan)])
        size = f"{self.size}×{self.size}"
        caption = f"The product of two {size} matrices by every method, in the order of history."
        rows = tuple(self._row(run)[: len(heads)] for run in runs)
        return [Grid("lineage", caption, heads, rows, tuple(self._remarks()))]

    def _row(self, run: Run) -> tuple[Entry, ...]:
        method = method_of(run)
        gflops, fraction = None, None
        if isinstance(run, Timed):
            gflops, fraction = run.gflops, self.fraction(run)
        return (
            str(method.year),
            method.name,
            method.source,
            _per_byte(method.builder(**run.parameters)),
            gflops,
            None if fraction is None else f"{100 * fraction:.3g} %",
            run.executor,
            method.lacked,
        )

    def _remarks(self) -> Iterator[str]:
        for library in self.libraries:
            title = title_of(library)
            yield f"Ceiling: {title} on {library.device}, {rate_of(library):.4g} GFLOPS."
            if self.is_disturbed(library):
                yield f"{title} was disturbed: methods were faster, so no part of it is given."
        yield f"Ran on {'; '.join(dict.fromkeys(f'{s.executor}: {s.device}' for s in self.steps))}."
        yield "Multiply-adds a byte are of the bytes that instructions ask for, before any cache."
        for skipped in self.not_run:
            yield f"{skipped.plan or skipped.executor} was not run: {skipped.reason}."
        yield from busy_notes(self.busy_share)

    def plot(self, path: Path) -> None:
        """Draw GFLOPS by method."""
        Lineages(lineages=(self,)).plot(path)


def rate_of(library: Timed) -> float:
    """The GFLOPS of a library's fastest sample."""
    fastest_s = library.spread[0]
    return (library.gflops or 0.0) * (library.seconds / fastest_s if fastest_s else 1.0)


def title_of(library: Timed) -> str:
    """What people call a library."""
    return TITLES.get(library.executor, library.executor)


def method_of(run: Run) -> Algorithm:
    """The method that was run."""
    return find_product(str(run.plan))


def _in_order(runs: Iterable[R]) -> list[R]:
    """Runs in the order of history."""
    return sorted(runs, key=lambda run: products().index(method_of(run)))


class Lineages(Result):
    """Lineages of several devices or sizes, side by side."""

    lineages: tuple[Lineage, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The table of each."""
        return [grid for lineage in self.lineages for grid in lineage.grids(whole=whole)]

    def plot(self, path: Path) -> None:
        """Draw GFLOPS by method, a panel a lineage."""
        from gpgpu_legacy.studies.lineage.plot import draw_lineages

        draw_lineages(self.lineages, path)


# The lineage in a few sentences ----------------------------------------------------------------

_SIZE = 1024


def story() -> list[str]:
    """What the methods learned from one another, in paragraphs whose numbers come out of plans.

    `code` is in backticks.
    """
    every = {method: _per_byte(method.builder(n=_SIZE)) for method in products()}
    best = {year: max(v for m, v in every.items() if m.year == year) for year in (2001, 2003)}
    sharing = [method for method in every if _shares(method)]
    shared = sorted(every[method] for method in sharing)
    return [
        f"From {products()[0].year} to {sharing[-1].year}, the methods learned "
        f"above all to fetch less: they do {best[2001]:.2f} multiply-adds per byte in 2001, "
        f"{best[2003]:.2f} in 2003, and {shared[0]:.0f} to {shared[-1]:.0f} where shared memory "
        "holds a tile.",
        "The scheme of 2003 never died. The browser frameworks of 2018 still pack 2×2 elements "
        "into an RGBA texel and use the same swizzled multiply-adds, but in one pass over the "
        "whole sum: `packed-2x2`.",
    ]


def _per_byte(p: PlanBuilder) -> float:
    """Multiply-adds for each byte that instructions ask for."""
    return (p.operations or 0) / 2 / count_plan(p.plan()).bytes_requested


def _shares(method: Algorithm) -> bool:
    """Whether its kernels have shared arrays."""
    passes = (pass_ for _, pass_ in method.plan(n=1).weighted_passes())
    return any(isinstance(pass_, ComputePass) and pass_.kernel.shared for pass_ in passes)
