"""A lineage: a benchmark of every method, shown in the order of history, beside its ceilings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import find_product, products
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.measure.bench import Bench, Run, Timed
from gpgpu_legacy.measure.other_work import busy_notes, busy_warning
from gpgpu_legacy.measure.peers import TITLES
from gpgpu_legacy.present.grid import Entry, Grid
from gpgpu_legacy.present.result import Result

R = TypeVar("R", bound=Run)


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
        p = method.builder(**run.parameters)
        multiply_adds = (p.operations or 0) / 2
        gflops, fraction = None, None
        if isinstance(run, Timed):
            gflops, fraction = run.gflops, self.fraction(run)
        return (
            str(method.year),
            method.name,
            method.source,
            multiply_adds / count_plan(p.plan()).bytes_requested,
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
