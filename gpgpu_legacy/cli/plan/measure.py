"""The command `plan bench`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import algorithm_names, executor_names
from gpgpu_legacy.cli.options import Argument, Option, Several
from gpgpu_legacy.cli.plan.options import InputOptions, RecipeOptions, pairs, plan_app
from gpgpu_legacy.cli.shared import (
    BUDGET_S,
    ROUNDS,
    BenchBudget,
    Json,
    Quiet,
    RecordedFile,
    ResultsFile,
    draw,
    plot_option,
    progress_bar,
    show,
    time_limit,
    warn_if_busy,
    writer_to,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.measure.plan_bench.model import Case
    from gpgpu_legacy.measure.plan_bench.record import PlanBench


@dataclass(frozen=True)
class MeasuredRecipe(RecipeOptions):
    """The plan, which recorded results do without."""

    what: Annotated[
        str,
        Argument(
            "[WHAT]",
            "An algorithm's name, FILE.py[:function], or a plan.json.",
            complete=algorithm_names,
        ),
    ] = ""


@dataclass(frozen=True)
class RoundOptions:
    """What `plan bench` measures, how long and how often."""

    over: Annotated[
        str | None,
        Option(
            "NAME=VALUE,VALUE",
            "Measure the plan for several values of a parameter, as in n=256,512.",
        ),
    ] = None
    executor: Annotated[
        Several[str],
        Option(
            "NAME …",
            "See `gpgpu-legacy doctor` (default: all that work here).",
            complete=executor_names,
        ),
    ] = ()
    peers: Annotated[
        str | None,
        Option(
            "FILE.py[:NAME]",
            "Measure the public classes of this Python file, too, or one of them, and compare "
            "with them; it is executed as such.",
        ),
    ] = None
    no_reference: Annotated[
        bool, Option("Leave out the reference function, which may take minutes.")
    ] = False
    repeat: Annotated[int, Option("ROUNDS", "Rounds for each plan.")] = ROUNDS
    budget: BenchBudget = BUDGET_S


@dataclass(frozen=True)
class BenchFiles:
    """What `plan bench` writes and reads."""

    output: ResultsFile = None
    plot: Annotated[Path | None, plot_option("Draw the times over the values of --over.")] = None
    recorded: RecordedFile = None


@plan_app.command("bench")
def bench_command(
    recipe: MeasuredRecipe,
    inputs: InputOptions,
    rounds: RoundOptions,
    files: BenchFiles,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure executors on a plan in turn, beside its peers and the recipe's reference function.

    A result is the median of the computing time alone, with the largest errors from the reference
    function, from the reference machine and from the first peer. A peer is a class that is
    constructed with the inputs and the parameters that it names; start() puts everything as it was,
    compute() runs all passes to their end and is timed, and outputs() gives the arrays.
    """
    from gpgpu_legacy.measure.plan_bench import plot, record, table
    from gpgpu_legacy.serial import read_recorded

    if files.recorded is not None:
        if recipe.what:
            raise InputError("--from shows recorded results; leave WHAT out")
        result = read_recorded(files.recorded, record.PlanBench)
        writer_to(files.output)(result)
    else:
        result = _measure(recipe, inputs, rounds, files.output, quiet=quiet)
    show(result, table.plan_bench_grids(result), as_json)
    draw(result, plot.draw_plan_bench, files.plot)


def _measure(
    recipe: RecipeOptions,
    inputs: InputOptions,
    rounds: RoundOptions,
    output: Path | None,
    *,
    quiet: bool,
) -> PlanBench:
    from gpgpu_legacy.measure.plan_bench.model import bench_plans, count_steps

    if not recipe.what:
        raise InputError("there is no plan to measure; give WHAT, or --from for recorded results")
    with time_limit(rounds.budget) as budget:
        cases, names = _cases(recipe, inputs, rounds), rounds.executor
        total = count_steps(cases, names, rounds.repeat)
        with progress_bar("measuring", total, quiet=quiet) as step:
            result = bench_plans(
                cases,
                names,
                repeat=rounds.repeat,
                budget=budget,
                progress=step,
                save=writer_to(output),
            )
    warn_if_busy(result.busy_share)
    return result


MOST_VALUES = 1000
"""The most values of --over."""


def _cases(recipe: RecipeOptions, inputs: InputOptions, rounds: RoundOptions) -> list[Case]:
    from gpgpu_legacy.api.plan_peers import read_peers
    from gpgpu_legacy.measure.plan_bench.model import Case

    family, settings, over = recipe.recipe(), recipe.given(), rounds.over
    peers = {} if rounds.peers is None else read_peers(rounds.peers)
    varied = pairs("--over", () if over is None else (over,), "n=256,512")
    if varied.keys() & settings.keys():
        raise InputError(f"{', '.join(varied)} is given by --set and by --over; give it once")
    counts = {name: text.count(",") + 1 for name, text in varied.items()}
    if max(counts.values(), default=0) > MOST_VALUES:
        raise InputError(
            f"--over has {max(counts.values())} values; give at most {MOST_VALUES}, since all "
            "plans are built before one is measured"
        )
    cases = []
    for name, texts in varied.items() or [("", "")]:
        for text in texts.split(","):
            built = family.build({**settings, name: text.strip()} if name else settings)
            label = f"{name} = {text.strip()}" if name else built.plan.name
            arrays = inputs.arrays(built)
            reference = None if rounds.no_reference else built.reference
            cases.append(Case(label, built.plan, arrays, reference, built.parameters, peers))
    return cases
