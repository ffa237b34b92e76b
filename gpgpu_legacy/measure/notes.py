"""What tables of measured times say alike."""

from __future__ import annotations

from gpgpu_legacy.measure.bench.record import Bench, Result
from gpgpu_legacy.measure.other_work import busy_notes
from gpgpu_legacy.measure.plan_bench.record import PlanBench, PlanResult
from gpgpu_legacy.present.grid import Numeral

UNSTEADY = 4.0
"""A run that takes over so many times as long as another of its kind was disturbed."""


def run_notes(bench: Bench | PlanBench) -> list[str]:
    """On first runs, and on what other processes took meanwhile."""
    first = (
        "“First” is a first run: the budget ended before a measured one. Loading and clocks that "
        "wake up may be in its time."
    )
    has_first = any(result.first_run for result in bench.results)
    return [*[first] * has_first, *busy_notes(bench.busy_share)]


def runs_of(result: Result | PlanResult, runs: int) -> int | Numeral:
    """How often something was measured, in a table."""
    return Numeral("first") if result.first_run else runs


def is_unsteady(result: Result | PlanResult) -> bool:
    """Whether a run of it was disturbed."""
    fastest, slowest = result.spread
    return slowest > UNSTEADY * fastest


def milliseconds(seconds: float | None) -> Numeral | None:
    """A time in a table of milliseconds."""
    return None if seconds is None else Numeral(f"{1e3 * seconds:.4g}")


def not_run_caption(budget_s: float | None) -> str:
    """The caption of what was not run."""
    return "Not run." if budget_s is None else f"Not run; the budget was {budget_s:g} s."
