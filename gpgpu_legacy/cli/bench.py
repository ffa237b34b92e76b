"""Commands about speed: methods measured against their peers, and the search for fast ways."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.cli.groups import grouped
from gpgpu_legacy.cli.shared import (
    METHOD_HELP,
    Json,
    Lists,
    Quiet,
    Seed,
    app,
    check_output,
    console,
    print_json,
    progress_bar,
    warn_if_busy,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.measure.bench.record import Bench

BENCH_SIZES, BENCH_REPEATS, BENCH_BUDGET_S = (256, 512, 1024), 5, 60.0
TUNE_SIZE, TUNE_BUDGET_S = 1024, 60.0


@dataclass(frozen=True, slots=True)
class EntrantOptions:
    """What `bench` measures."""

    method: Annotated[
        list[str] | None, typer.Option(metavar="NAME …", help=f"{METHOD_HELP} All without it.")
    ] = None
    executor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME …",
            help="See `gpgpu-legacy doctor` (default: all that work here but the reference).",
        ),
    ] = None
    size: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N …",
            help=f"For n×n matrices (default: {' '.join(map(str, BENCH_SIZES))}).",
        ),
    ] = None
    block: Annotated[
        list[int] | None, typer.Option(metavar="B …", help="The paper's b: steps in one pass.")
    ] = None
    accumulate: Annotated[
        Accumulate | None, typer.Option(help="How the partial sum gets from pass to pass.")
    ] = None


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """How long and how often `bench` measures."""

    repeat: Annotated[int, typer.Option(help="Rounds at each size.")] = BENCH_REPEATS
    budget: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="For everything, preparation included. The cheapest job is run in any case.",
        ),
    ] = BENCH_BUDGET_S
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class BenchFiles:
    """What `bench` writes and reads."""

    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A .json file, rewritten as results come in."),
    ] = None
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw GFLOPS against n.")] = None
    recorded: Annotated[
        Path | None, typer.Option("--from", metavar="JSON", help="Show a recorded run; run none.")
    ] = None
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="OLD.json NEW.json", help="Compare recorded runs; run nothing."),
    ] = None


@app.command(cls=Lists)
@grouped
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
    off). All of them are run in turn, round by round. A result is the median of the rounds, of
    computing alone. A warning says when other processes used the machine meanwhile.
    """
    if files.compare is not None:
        if (files.recorded, files.output, files.plot) != (None, None, None):
            raise InputError("--compare prints a table; leave --from, --output and --plot out")
        _compare(*files.compare, as_json=as_json)
        return
    from gpgpu_legacy.measure.bench.record import read_bench
    from gpgpu_legacy.measure.bench.table import bench_grids
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.serial import write_json

    check_output(files.output, ".json")
    check_output(files.plot, ".png")
    if files.recorded is not None:
        result = read_bench(files.recorded)
        if files.output is not None:
            write_json(files.output, result)
    else:
        result = _measure(entrant, rounds, files.output, quiet=quiet)
    if as_json:
        print_json(result)
    else:
        print_text(bench_grids(result), console())
    if files.plot is not None:
        from gpgpu_legacy.measure.bench.plot import draw_bench

        draw_bench(result, files.plot)
        print(f"wrote {files.plot}", file=sys.stderr)


def _measure(
    entrant: EntrantOptions, rounds: RoundOptions, output: Path | None, *, quiet: bool
) -> Bench:
    from gpgpu_legacy.measure.bench.model import count_steps, measure
    from gpgpu_legacy.measure.budget import Budget
    from gpgpu_legacy.measure.entrants import entrants
    from gpgpu_legacy.serial import write_json

    budget, sizes = Budget(rounds.budget), entrant.size or BENCH_SIZES
    entered = entrants(
        entrant.method or (), entrant.executor or (), entrant.block or (), entrant.accumulate
    )

    def save(bench: Bench) -> None:
        if output is not None:
            write_json(output, bench)

    total = count_steps(entered, sizes, rounds.repeat)
    with progress_bar("measuring", total, quiet=quiet) as step:
        result = measure(
            entered, sizes, rounds.repeat, budget, seed=rounds.seed, progress=step, save=save
        )
    warn_if_busy(result.busy_share)
    return result


def _compare(old: Path, new: Path, *, as_json: bool) -> None:
    from gpgpu_legacy.measure.bench.record import compare, read_bench
    from gpgpu_legacy.measure.bench.table import compare_grid, why_not_comparable
    from gpgpu_legacy.present.grid import print_text

    compared = compare(read_bench(old), read_bench(new))
    if as_json:
        print_json(compared)
    elif not compared.comparable:
        print(why_not_comparable(compared))
    elif not compared.ratios:
        print("the two runs have no result in common")
    else:
        print_text([compare_grid(compared)], console())


@app.command()
def tune(
    method: Annotated[
        list[str] | None,
        typer.Argument(metavar="METHOD", help=f"{METHOD_HELP} hall-carr-hart-multi without."),
    ] = None,
    size: Annotated[int, typer.Option(help="n, for the n×n matrices to tune with.")] = TUNE_SIZE,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="What all of it may take.")
    ] = TUNE_BUDGET_S,
    executor: Annotated[
        list[str] | None,
        typer.Option(help="Search this one alone, and `auto` will take it; may be repeated."),
    ] = None,
    seed: Seed = 0,
    show: Annotated[
        bool, typer.Option("--show", help="Print what is kept for this machine; search nothing.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Forget what is kept, of all methods or of these.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search for the fastest way to a product on this machine, and keep it for `--executor auto`.

    Tried are executors, blocks, accumulations, and the shape of the code that executors make; every
    product is checked against the one by default. What is found is kept for this device and driver
    in the user's data folder. The environment variable GPGPU_LEGACY_TUNING names another file to
    keep it in; GPGPU_LEGACY_TUNING=off switches tuning off.
    """
    from gpgpu_legacy.measure import tuned

    if show and forget:
        raise InputError("give --show or --forget, not both")
    names = tuple(method or ())
    if forget:
        gone = tuned.forget(names)
        if as_json:
            print_json({"file": str(tuned.kept_file()), "forgotten": list(gone)})
        else:
            print(f"forgot {', '.join(gone)}" if gone else "there was nothing to forget")
        return
    if not show:
        _search(names, size, budget, tuple(executor or ()), seed, quiet)
    _show_kept(names, as_json=as_json)


def _search(
    names: tuple[str, ...],
    size: int,
    budget: float,
    executors: tuple[str, ...],
    seed: int,
    quiet: bool,
) -> None:
    from gpgpu_legacy.measure.tune import tune as search

    with _seconds_bar("tuning, seconds", budget, quiet=quiet) as step:
        done = search(names, size, budget, executors=executors, seed=seed, progress=step)
    cut_short = [kept.method for kept, found in done if not found.finished]
    if cut_short:
        print(
            f"the budget ended the search for {', '.join(cut_short)}; a larger --budget may find "
            "a faster way",
            file=sys.stderr,
        )


@contextmanager
def _seconds_bar(
    what: str, budget_s: float, *, quiet: bool
) -> Iterator[Callable[[str], None] | None]:
    """A progress bar of seconds; what it yields is called now and then."""
    started, told = perf_counter(), 0
    whole = int(budget_s) if 1.0 <= budget_s < float("inf") else 1
    with progress_bar(what, whole, quiet=quiet) as step:
        if step is None:
            yield None
            return

        def at_this_second(description: str) -> None:
            nonlocal told
            while told < min(whole, perf_counter() - started):
                told += 1
                step(description)

        yield at_this_second


def _show_kept(names: tuple[str, ...], *, as_json: bool) -> None:
    from gpgpu_legacy.algorithms.registry import find_method
    from gpgpu_legacy.measure import tuned
    from gpgpu_legacy.measure.tuned_table import kept_grid
    from gpgpu_legacy.present.grid import print_text

    wanted = {find_method(name).name for name in names}
    kept = [each for each in tuned.all_kept() if not wanted or each.method in wanted]
    place = tuned.here()
    if as_json:
        data: dict[str, Any] = {
            "file": str(tuned.kept_file()),
            "off": tuned.is_off(),
            "device": place.device,
            "driver": place.driver,
            "kept": [each.as_json() for each in kept],
        }
        print_json(data)
    elif tuned.is_off():
        print(f"tuning is off: {tuned.VARIABLE}={tuned.OFF}")
    elif not kept:
        print(f"nothing is tuned on {place.device}; `gpgpu-legacy tune` does it")
    else:
        print_text([kept_grid(kept, f"{place.device}, {place.driver}")], console())
