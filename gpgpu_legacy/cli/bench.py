"""The command that measures methods against their peers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import method_names
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    BUDGET_S,
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
    from gpgpu_legacy.api.matmul import matmul

    given = {n: v for n, v in options.given().items() if n in method.parameters}
    return matmul(a, b, method.name, machine=machine, executor=executor.name, **given)


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
