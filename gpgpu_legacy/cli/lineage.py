"""The study of every method in the order of history."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import ExecutorName, Seed, warn_if_busy
from gpgpu_legacy.cli.words import Size

if TYPE_CHECKING:
    from gpgpu_legacy.studies.lineage.result import Lineage, Lineages


@dataclass(frozen=True)
class LineageOptions:
    """What `lineage` runs."""

    seed: Seed = 0
    executor: ExecutorName = "auto"
    budget: Annotated[
        float | None,
        Option("SECONDS", "Stop after this time (default: no limit, for a table of every method)."),
    ] = None
    beside: Annotated[
        Several[Path],
        Option("JSON …", "Show several recorded results side by side; run nothing."),
    ] = ()


def _kept() -> Any:
    from gpgpu_legacy.studies.lineage.result import Lineage

    return Lineage


@answers("study lineage", plot="Draw GFLOPS by method.", kept=_kept)
def lineage_command(size: Size, what: LineageOptions, report: Report) -> Lineage | Lineages:
    """Run every method on this machine, in the order of history.

    All methods run in turn, round by round, and so do the libraries that are their ceilings.
    """
    if what.beside:
        from gpgpu_legacy.serial import read_recorded
        from gpgpu_legacy.studies.lineage.result import Lineage, Lineages

        return Lineages(lineages=tuple(read_recorded(path, Lineage) for path in what.beside))
    from gpgpu_legacy.studies.lineage.model import benchmark_of, lineage_of

    with report.budget(what.budget) as budget:
        benchmark = benchmark_of(size.n, what.seed, what.executor)
        with report.progress("lineage", benchmark.steps) as step:
            bench = benchmark.measure(budget, step, report.save)
    warn_if_busy(bench.busy_share)
    return lineage_of(bench)
