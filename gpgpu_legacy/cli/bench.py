"""The commands that measure: `bench`, `tune` and `calibrate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.api.command.frame import Kept, Report, answers, up_to
from gpgpu_legacy.api.command.options import Several, executor_names
from gpgpu_legacy.api.command.words import (
    BUDGET_S,
    PAPER_SIZE,
    ROUNDS,
    AnyTime,
    Executors,
    Jobs,
    Seconds,
    Seed,
    split,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.isa.arithmetic import F32
    from gpgpu_legacy.measure.bench import Bench
    from gpgpu_legacy.measure.calibration import Calibrations
    from gpgpu_legacy.measure.tuned import TuningReport
    from gpgpu_legacy.pipeline.builder import PlanBuilder
    from gpgpu_legacy.runtime.executor import Executor
    from gpgpu_legacy.runtime.machine import Machine

SIZES = "n=256,512,1024"
"""The default sizes of products."""


@answers("bench", plot="Draw GFLOPS, or times if a plan has none, over the cases.")
def bench_command(
    *,
    jobs: Jobs,
    executor: Executors = (),
    peer: Annotated[
        Several[str],
        "NAME",
        "Libraries, beside products: numpy-blas, cublas (default: all here).",
    ] = (),
    peers: Annotated[
        str | None,
        "FILE.py[:NAME]",
        "Measure the public classes of this Python file, too, or one of them, and compare "
        "with them; it is executed as such.",
    ] = None,
    no_reference: Annotated[bool, "Leave out the reference function, which may take minutes."] = (
        False
    ),
    whole_calls: Annotated[
        bool, "--whole", "Time whole calls, from inputs to outputs in memory."
    ] = False,
    repeat: Annotated[int, "ROUNDS", "Rounds of each case."] = ROUNDS,
    budget: Seconds = BUDGET_S,
    seed: Seed = 0,
    report: Kept,
) -> Bench:
    """Measure executors on WHAT in turn, beside peers and the reference function.

    Without WHAT, all products are measured. Each value of a sweep, such as n=256,512, is a case. A
    result is the median of the computing time alone, with the largest errors against the reference
    function, the reference machine and the first peer of --peers. Peers, if this machine has them,
    are numpy-blas (NumPy's own product), cublas (through torch or cupy, TF32 off) and executors
    that run the driver's own programs. A peer of --peers is a class that is constructed with the
    inputs and the parameters that it names; start() resets everything, compute() runs all passes to
    their end and is timed, and outputs() returns the arrays.
    """
    from gpgpu_legacy.algorithms.registry import products
    from gpgpu_legacy.measure.bench import Bench
    from gpgpu_legacy.measure.benchmark import Benchmark, Case, tuned
    from gpgpu_legacy.measure.peers import read_peers
    from gpgpu_legacy.measure.timing import Rounds
    from gpgpu_legacy.runtime.executor import AUTO

    if recorded := report.read(Bench):
        return recorded
    whats, given = split(jobs.words)
    if not whats:
        sizes = () if {"n", "A", "B"} & given.keys() else (SIZES,)
        jobs = Jobs((*(product.name for product in products()), *sizes, *jobs.words))
    programs = {} if peers is None else read_peers(peers)
    cases = [
        replace(
            tuned(p) if executor == (AUTO,) else Case(p, executors=executor),
            inputs=p.inputs(arrays) if arrays else None,
            peers=programs,
        )
        for p, arrays in jobs.cases()
    ]
    benchmark = Benchmark(
        cases,
        peers=peer or None,
        has_reference=not no_reference,
        call=_whole_call if whole_calls else None,
        rounds=Rounds(repeat),
        seed=seed,
    )
    with report.work("measuring", benchmark.steps, budget) as within:
        return benchmark.measure(within, report.save)


def _whole_call(
    p: PlanBuilder, inputs: Mapping[str, F32], executor: Executor, machine: Machine
) -> Mapping[str, F32]:
    """Compute the outputs by the call that a user makes."""
    from gpgpu_legacy.api.matmul import matmul
    from gpgpu_legacy.api.run import run
    from gpgpu_legacy.measure.work import product_of

    if p.family is None or product_of(p) is None:
        return run(p, inputs, executor=executor.name, machine=machine).outputs
    algorithm, given = p.family
    own = {name: value for name, value in given.items() if name not in {"m", "l", "n"}}
    a, b = inputs["A"], inputs["B"]
    c = matmul(a, b, algorithm.name, machine=machine, executor=executor.name, **own)
    return {"C": c}


@answers("tune")
def tune_command(
    *,
    jobs: Jobs,
    budget: Seconds = BUDGET_S,
    executor: Annotated[
        Several[str],
        "NAME",
        "Search only these executors, for `auto` to choose from (default: all that work here).",
        executor_names,
    ] = (),
    seed: Seed = 0,
    report: Report,
    show: Annotated[bool, "Show the results for this machine; search nothing."] = False,
    forget: Annotated[bool, "Forget the results for these WHAT, or for all."] = False,
) -> TuningReport:
    """Search for the fastest way to compute WHAT here, and keep it for `--executor auto`.

    Without WHAT, this searches for the multichannel product. The search tries executors, blocks,
    accumulations, and shapes of generated code; all results are compared with the default's. The
    fastest way is kept for this device and driver in the user's data folder. The environment
    variable GPGPU_LEGACY_TUNING names another file to keep it in; GPGPU_LEGACY_TUNING=off switches
    tuning off.
    """
    from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT, find_algorithm, products
    from gpgpu_legacy.api.pipeline import Pipeline
    from gpgpu_legacy.measure.tune import tune
    from gpgpu_legacy.measure.tuned import tuning_report

    if show and forget:
        raise InputError("give --show or --forget, not both")
    if show or forget:
        names = [find_algorithm(what).name for what in split(jobs.words)[0]]
        return tuning_report(names, forget=forget)
    families = [p.family for p in jobs.pipelines(DEFAULT_PRODUCT) if p.family is not None]
    pipelines = [
        Pipeline.of(algorithm, {**({"n": PAPER_SIZE} if algorithm in products() else {}), **given})
        for algorithm, given in families
    ]
    whole = int(budget) if 1.0 <= budget < inf else 1
    with report.work("tuning, seconds", whole, budget) as within:
        reach = up_to(whole, within.tell)
        within.tell = lambda said: reach(said, within.spent_s)
        return tune(pipelines, within, executors=executor, seed=seed)


@answers("calibrate")
def calibrate_command(
    report: Report,
    executor: Executors = (),
    repeat: Annotated[int, "ROUNDS", "Rounds of all ceilings."] = ROUNDS,
    budget: AnyTime = None,
    output: Annotated[
        Path | None,
        "-o",
        "--output",
        "FILE.toml",
        "Write the profile of one executor here.",
    ] = None,
) -> Calibrations:
    """Measure this machine's ceilings, and keep them as the profile of a chip.

    The profile of an executor is called this-NAME and is kept in the user's data folder; the
    environment variable GPGPU_LEGACY_PROFILES names another folder.
    """
    from gpgpu_legacy.measure import calibration as model

    wanted = model.calibratable(executor)
    steps = len(wanted) * model.count_steps(repeat)
    with report.work("calibrating", steps, budget) as limit:
        return model.calibrate_all(wanted, repeat, limit, output)
