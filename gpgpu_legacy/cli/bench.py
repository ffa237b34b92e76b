"""Commands about speed: methods measured against their peers, and the search for fast ways."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import executor_names, method_names
from gpgpu_legacy.cli.options import Argument, Option, Several
from gpgpu_legacy.cli.shared import (
    BUDGET_S,
    PAPER_SIZE,
    ROUNDS,
    SIZE_HELP,
    AccumulateBy,
    BenchBudget,
    Blocks,
    Json,
    MeasuredExecutors,
    Quiet,
    RecordedFile,
    ResultsFile,
    Seed,
    app,
    draw,
    plot_option,
    print_json,
    print_tables,
    progress_bar,
    show,
    time_limit,
    warn_if_busy,
    writer_to,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.matmul.method import Method
    from gpgpu_legacy.algorithms.matmul.options import Options
    from gpgpu_legacy.isa.arithmetic import F32
    from gpgpu_legacy.measure.bench.record import Bench
    from gpgpu_legacy.measure.budget import Budget
    from gpgpu_legacy.runtime.executor import Executor
    from gpgpu_legacy.runtime.machine import Machine

BENCH_SIZES = (256, 512, 1024)


@dataclass(frozen=True)
class EntrantOptions:
    """What `bench` measures."""

    method: Annotated[
        Several[str],
        Option("NAME …", "See `gpgpu-legacy methods` (default: all).", complete=method_names),
    ] = ()
    executor: MeasuredExecutors = ()
    size: Annotated[
        Several[int],
        Option("N …", f"{SIZE_HELP} (default: {' '.join(map(str, BENCH_SIZES))})."),
    ] = ()
    block: Blocks = ()
    accumulate: AccumulateBy = None
    peer: Annotated[
        Several[str],
        Option(
            "NAME …", "numpy-blas, cublas and driver-arbfp, as far as they are here (default: all)."
        ),
    ] = ()
    whole: Annotated[
        bool, Option("Time whole calls, from matrices in memory to a product there.")
    ] = False


@dataclass(frozen=True)
class RoundOptions:
    """How long and how often `bench` measures."""

    repeat: Annotated[int, Option("ROUNDS", "Rounds at each size.")] = ROUNDS
    budget: BenchBudget = BUDGET_S
    seed: Seed = 0


@dataclass(frozen=True)
class BenchFiles:
    """What `bench` writes and reads."""

    output: ResultsFile = None
    plot: Annotated[Path | None, plot_option("Draw GFLOPS against n.")] = None
    recorded: RecordedFile = None
    compare: Annotated[
        tuple[Path, Path] | None,
        Option("OLD NEW", "Compare two files of recorded results; run nothing."),
    ] = None


@app.command()
def bench(
    entrant: EntrantOptions,
    rounds: RoundOptions,
    files: BenchFiles,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure methods on executors at several sizes, against their peers in the same run.

    The peers, where this machine has them, are numpy-blas (NumPy's own product), driver-arbfp (the
    driver's own ARB_fragment_program on the same method) and cublas (through torch or cupy, TF32
    off). All of them run in turn, round by round. A result is the median of the computing time
    alone, or with --whole of whole calls. A warning says if other processes used much of the
    machine meanwhile.
    """
    if files.compare is not None:
        if (files.recorded, files.output, files.plot) != (None, None, None):
            raise InputError("--compare prints a table; leave --from, --output and --plot out")
        _compare(*files.compare, as_json=as_json)
        return
    from gpgpu_legacy.measure.bench import plot, record, table

    if files.recorded is not None:
        result = record.read_bench(files.recorded)
        writer_to(files.output)(result)
    else:
        result = _measure(entrant, rounds, files.output, quiet=quiet)
    show(result, table.bench_grids(result), as_json)
    draw(result, plot.draw_bench, files.plot)


def _measure(
    entrant: EntrantOptions, rounds: RoundOptions, output: Path | None, *, quiet: bool
) -> Bench:
    from gpgpu_legacy.measure.bench.model import count_steps, measure
    from gpgpu_legacy.measure.entrants import entrants

    sizes = entrant.size or BENCH_SIZES
    with time_limit(rounds.budget) as budget:
        entered = entrants(
            entrant.method,
            entrant.executor,
            entrant.block,
            entrant.accumulate,
            peer_names=entrant.peer,
            multiply=_whole_call if entrant.whole else None,
        )
        total = count_steps(entered, sizes, rounds.repeat)
        with progress_bar("measuring", total, quiet=quiet) as step:
            result = measure(
                entered,
                sizes,
                rounds.repeat,
                budget,
                seed=rounds.seed,
                whole=entrant.whole,
                progress=step,
                save=writer_to(output),
            )
    warn_if_busy(result.busy_share)
    return result


def _whole_call(
    a: F32, b: F32, method: Method, options: Options, machine: Machine, executor: Executor
) -> F32:
    """What a user calls for a product."""
    from gpgpu_legacy.api.products import matmul

    return matmul(a, b, method.name, options, machine, executor=executor.name)


def _compare(old: Path, new: Path, *, as_json: bool) -> None:
    from gpgpu_legacy.measure.bench import record, table

    compared = record.compare(record.read_bench(old), record.read_bench(new))
    if as_json:
        print_json(compared)
    elif not compared.comparable:
        print(table.why_not_comparable(compared))
    elif not compared.ratios:
        print("the two runs have no result in common")
    else:
        print_tables([table.compare_grid(compared)])


@dataclass(frozen=True)
class SearchOptions:
    """What `tune` searches, and how long."""

    size: Annotated[int, Option("N", "Tune with N×N matrices.")] = PAPER_SIZE
    budget: Annotated[
        float,
        Option("SECONDS", "Stop after this time, all methods together, preparation included."),
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


@app.command()
def tune(
    options: SearchOptions,
    method: Annotated[
        Several[str],
        Argument(
            "[METHOD]...",
            "See `gpgpu-legacy methods` (default: hall-carr-hart-multi).",
            complete=method_names,
        ),
    ] = (),
    show: Annotated[bool, Option("Print what is kept for this machine; search nothing.")] = False,
    forget: Annotated[bool, Option("Forget what is kept for these methods, or for all.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search for the fastest way to compute a product here, and keep it for `--executor auto`.

    The search tries executors, blocks, accumulations, and shapes of the code that executors
    generate; every product is compared with the default one. The result is kept for this device and
    driver in the user's data folder. The environment variable GPGPU_LEGACY_TUNING names another
    file to keep it in; GPGPU_LEGACY_TUNING=off switches tuning off.
    """
    if show and forget:
        raise InputError("give --show or --forget, not both")
    names = method
    if forget:
        _forget(names, as_json=as_json)
        return
    busy_share = None if show else _search(names, options, quiet=quiet)
    _show_tuned(names, busy_share, as_json=as_json)


def _search(names: tuple[str, ...], options: SearchOptions, *, quiet: bool) -> float | None:
    """Search, and give the share of the processors' time that other processes took meanwhile."""
    from gpgpu_legacy.measure.tune import tune as search_ways

    with time_limit(options.budget) as budget, _seconds_bar(budget, quiet=quiet) as step:
        result = search_ways(
            names,
            options.size,
            budget,
            executors=options.executor,
            seed=options.seed,
            progress=step,
        )
    cut_short = [tuned.method for tuned, search in result.methods if not search.finished]
    if cut_short:
        print(
            f"the budget ended the search for {', '.join(cut_short)}; a larger --budget may find "
            "a faster way",
            file=sys.stderr,
        )
    warn_if_busy(result.busy_share)
    return result.busy_share


@contextmanager
def _seconds_bar(budget: Budget, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A progress bar of seconds; call what it yields now and then."""
    told, whole = 0, int(budget.seconds) if 1.0 <= budget.seconds < inf else 1
    with progress_bar("tuning, seconds", whole, quiet=quiet) as step:

        def at_this_second(description: str) -> None:
            nonlocal told
            while told < min(whole, budget.spent_s):
                told += 1
                step(description)

        yield at_this_second


def _forget(names: tuple[str, ...], *, as_json: bool) -> None:
    from gpgpu_legacy.measure.tuned import forget, tuning_file
    from gpgpu_legacy.measure.tuned_table import Forgotten

    gone = forget(names)
    if as_json:
        print_json(Forgotten(file=str(tuning_file()), forgotten=gone))
    else:
        print(f"forgot {', '.join(gone)}" if gone else "there was nothing to forget")


def _show_tuned(names: tuple[str, ...], busy_share: float | None, *, as_json: bool) -> None:
    from gpgpu_legacy.measure.tuned import OFF, VARIABLE
    from gpgpu_legacy.measure.tuned_table import tuned_grid, tuning_report

    report = tuning_report(names, busy_share)
    if as_json:
        print_json(report)
    elif report.off:
        print(f"tuning is off: {VARIABLE}={OFF}")
    elif not report.kept:
        print(f"nothing is tuned on {report.device}; `gpgpu-legacy tune` does it")
    else:
        print_tables([tuned_grid(report)])
