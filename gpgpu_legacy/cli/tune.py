"""The command that searches for fast ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import executor_names
from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import BUDGET_S, PAPER_SIZE, Seed, warn_if_busy
from gpgpu_legacy.cli.words import Jobs, split
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.pipeline import Pipeline
    from gpgpu_legacy.measure.budget import Budget
    from gpgpu_legacy.measure.tuned import TuningReport


@dataclass(frozen=True)
class SearchOptions:
    """What `tune` searches, and how long."""

    budget: Annotated[
        float,
        Option("SECONDS", "Stop after this time, all algorithms together, preparation included."),
    ] = BUDGET_S
    executor: Annotated[
        Several[str],
        Option(
            "NAME …",
            "Search these executors alone; `auto` then chooses them (default: all that work here).",
            complete=executor_names,
        ),
    ] = ()
    seed: Seed = 0


@answers("tune")
def tune_command(
    jobs: Jobs,
    search: SearchOptions,
    report: Report,
    show: Annotated[bool, Option("Say what is kept for this machine; search nothing.")] = False,
    forget: Annotated[bool, Option("Forget what is kept for these WHAT, or for all.")] = False,
) -> TuningReport:
    """Search for the fastest way to compute WHAT here, and keep it for `--executor auto`.

    Without WHAT, that is the multichannel product. The search tries executors, blocks,
    accumulations, and shapes of the code that executors generate; all results are compared with
    those of the default way. The fastest way is kept for this device and driver in the user's data
    folder. The environment variable GPGPU_LEGACY_TUNING names another file to keep it in;
    GPGPU_LEGACY_TUNING=off switches tuning off.
    """
    from gpgpu_legacy.algorithms.registry import find_algorithm
    from gpgpu_legacy.measure.tuned import tuning_report

    if show and forget:
        raise InputError("give --show or --forget, not both")
    if show or forget:
        names = [find_algorithm(what).name for what in split(jobs.words)[0]]
        return tuning_report(names, forget=forget)
    from gpgpu_legacy.measure.tune import tune

    pipelines, among = _pipelines(jobs), search.executor
    with report.budget(search.budget) as budget, _seconds_bar(budget, report) as step:
        found = tune(pipelines, budget, executors=among, seed=search.seed, progress=step)
    warn_if_busy(found.busy_share)
    return found


def _pipelines(jobs: Jobs) -> list[Pipeline]:
    """What is tuned; products as large as the paper's, where no size is given."""
    from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT, products
    from gpgpu_legacy.api.pipeline import Pipeline

    families = [p.family for p in jobs.pipelines(DEFAULT_PRODUCT) if p.family is not None]
    return [
        Pipeline.of(algorithm, {**({"n": PAPER_SIZE} if algorithm in products() else {}), **given})
        for algorithm, given in families
    ]


@contextmanager
def _seconds_bar(budget: Budget, report: Report) -> Iterator[Callable[[str], None]]:
    """Progress in seconds; call what it yields now and then."""
    told, whole = 0, int(budget.seconds) if 1.0 <= budget.seconds < inf else 1
    with report.progress("tuning, seconds", whole) as step:

        def at_this_second(description: str) -> None:
            nonlocal told
            while told < min(whole, budget.spent_s):
                told += 1
                step(description)

        yield at_this_second
