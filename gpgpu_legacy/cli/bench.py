"""The command that measures pipelines on executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.cli.completion import executor_names
from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import BUDGET_S, ROUNDS, BenchBudget, Seed, warn_if_busy
from gpgpu_legacy.cli.words import Jobs, split
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.isa.arithmetic import F32
    from gpgpu_legacy.measure.bench import Bench, Comparison
    from gpgpu_legacy.measure.benchmark import Benchmark
    from gpgpu_legacy.pipeline.builder import PlanBuilder
    from gpgpu_legacy.runtime.executor import Executor
    from gpgpu_legacy.runtime.machine import Machine

SIZES = "n=256,512,1024"
"""Of products, where nothing is asked for."""


@dataclass(frozen=True)
class EntrantOptions:
    """Who is measured."""

    executor: Annotated[
        Several[str],
        Option(
            "NAME …",
            "See `gpgpu-legacy doctor` (default: all that work here, of products but the "
            "reference).",
            complete=executor_names,
        ),
    ] = ()
    peer: Annotated[
        Several[str],
        Option("NAME …", "Libraries, beside products: numpy-blas, cublas (default: all here)."),
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
    whole_calls: Annotated[
        bool, Option("--whole", "Time whole calls, from inputs in memory to outputs there.")
    ] = False


@dataclass(frozen=True)
class RoundOptions:
    """How long and how often it is measured."""

    repeat: Annotated[int, Option("ROUNDS", "Rounds of each case.")] = ROUNDS
    budget: BenchBudget = BUDGET_S
    seed: Seed = 0


def _kept() -> Any:
    from gpgpu_legacy.measure.bench import Bench

    return Bench


@answers("bench", plot="Draw GFLOPS, or times where a plan has none, over the cases.", kept=_kept)
def bench_command(
    jobs: Jobs,
    entrants: EntrantOptions,
    rounds: RoundOptions,
    report: Report,
    compare: Annotated[
        tuple[Path, Path] | None,
        Option("OLD NEW", "Compare two files of recorded results; run nothing."),
    ] = None,
) -> Bench | Comparison:
    """Measure executors on WHAT in turn, beside peers and the reference function.

    Without WHAT, that is all products. Sweeps, as in n=256,512, are cases. A result is the median
    of the computing time alone, with the largest errors from the reference function, from the
    reference machine and from the first peer of --peers. Peers are, where this machine has them,
    numpy-blas (NumPy's own product), cublas (through torch or cupy, TF32 off) and executors that
    run the driver's own programs. A peer of --peers is a class that is constructed with the inputs
    and the parameters that it names; start() puts everything as it was, compute() runs all passes
    to their end and is timed, and outputs() gives the arrays.
    """
    if compare is not None:
        from gpgpu_legacy.measure.bench import Bench
        from gpgpu_legacy.measure.bench import compare as compared
        from gpgpu_legacy.serial import read_recorded

        if jobs.words:
            raise InputError("--compare runs nothing; leave WHAT out")
        old, new = (read_recorded(path, Bench) for path in compare)
        return compared(old, new)
    with report.budget(rounds.budget) as budget:
        benchmark = _benchmark(jobs, entrants, rounds)
        with report.progress("measuring", benchmark.steps) as step:
            bench = benchmark.measure(budget, step, report.save)
    warn_if_busy(bench.busy_share)
    return bench


def _benchmark(jobs: Jobs, entrants: EntrantOptions, rounds: RoundOptions) -> Benchmark:
    from gpgpu_legacy.algorithms.registry import products
    from gpgpu_legacy.api.plan_peers import read_peers
    from gpgpu_legacy.measure.benchmark import Benchmark, Case, tuned
    from gpgpu_legacy.measure.rounds import Rounds
    from gpgpu_legacy.runtime.registry import AUTO

    whats, given = split(jobs.words)
    if not whats:
        sizes = () if {"n", "A", "B"} & given.keys() else (SIZES,)
        jobs = Jobs((*(product.name for product in products()), *sizes, *jobs.words))
    peers = {} if entrants.peers is None else read_peers(entrants.peers)
    cases = []
    for p, arrays in jobs.cases():
        is_open = entrants.executor == (AUTO,)
        case = tuned(p) if is_open else Case(p, executors=entrants.executor)
        inputs = p.inputs(arrays) if arrays else None
        cases.append(replace(case, inputs=inputs, peers=peers))
    return Benchmark(
        cases,
        peers=entrants.peer or None,
        has_reference=not entrants.no_reference,
        call=_whole_call if entrants.whole_calls else None,
        rounds=Rounds(rounds.repeat),
        seed=rounds.seed,
    )


def _whole_call(
    p: PlanBuilder, inputs: Mapping[str, F32], executor: Executor, machine: Machine
) -> Mapping[str, F32]:
    """What a user calls."""
    from gpgpu_legacy.api.matmul import matmul
    from gpgpu_legacy.api.run import run
    from gpgpu_legacy.measure.products import product_of

    if p.family is None or product_of(p) is None:
        return run(p, inputs, executor=executor.name, machine=machine).arrays
    algorithm, given = p.family
    own = {name: value for name, value in given.items() if name not in {"m", "l", "n"}}
    a, b = inputs["A"], inputs["B"]
    c = matmul(a, b, algorithm.name, machine=machine, executor=executor.name, **own)
    return {"C": c}
