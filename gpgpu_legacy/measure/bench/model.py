"""Methods measured against one another and against their peers on the same product.

What is timed is computing alone: an executor's `Timings.compute_s`, a library's product on operands
that are on its device already. Every run of an executor packs and uploads its operands first, while
a GPU idles; so an executor's times on a GPU are those of a single product, and show a clock that
drops while the GPU idles. A library's runs follow one another closely.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure import engine
from gpgpu_legacy.measure.bench.record import Bench, Result, Skipped
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.engine import Listener, Measured, NotRun, Outcome
from gpgpu_legacy.measure.peers import F32, OneRun, OnOperands, peers
from gpgpu_legacy.measure.products import Checked, Products
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.measure.tuned import Choice, choose, here
from gpgpu_legacy.runtime.executor import Executor, Machine
from gpgpu_legacy.runtime.registry import able, find_executor
from gpgpu_legacy.serial import provenance

DRIVER_PEER = "driver-arbfp"
_PACKAGES = (
    "gpgpu-legacy", "numpy", "moderngl", "llvmlite", "numba", "torch", "cupy", "cupy-cuda11x",
    "cupy-cuda12x", "cupy-cuda13x",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method on an executor, or a peer.

    method: what results call it. of: for a peer that runs a method of ours on another executor,
    that method. on_operands: prepares what is run. block, accumulate: None where it has none.
    """

    method: str
    executor: str
    device: str
    on_operands: OnOperands
    block: int | None = None
    accumulate: Accumulate | None = None
    of: str | None = None
    is_peer: bool = False

    def __str__(self) -> str:
        """The entrant in a few words."""
        of = f" of {self.of}" if self.of else ""
        block = "" if self.block is None else f", b = {self.block}"
        way = "" if self.accumulate is None else f", {self.accumulate.value}"
        return f"{self.method}{of} on {self.executor}{block}{way}"


def versions() -> dict[str, str]:
    """Of Python, of the installed packages that times depend on, and of NumPy's BLAS."""
    named = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            named[name] = version(name)
        except PackageNotFoundError:
            continue
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    named["blas"] = f"{blas.get('name')} {blas.get('version')}"
    return named


# Who takes part ----------------------------------------------------------------------------------


def entrants(
    method_names: Sequence[str] = (),
    executor_names: Sequence[str] = (),
    blocks: Sequence[int] = (),
    accumulate: Accumulate | None = None,
) -> list[Entrant]:
    """The libraries' own products, then methods by executors by blocks, each with its peer.

    method_names: all methods if empty; a block or an accumulation then leaves out methods that have
    none. executor_names: if empty, all that can run a method here but the reference machine.
    Raises InputError for unknown names, ExecutorUnavailableError for what cannot run here.
    """
    chosen = [find_method(name) for name in dict.fromkeys(method_names)]
    entered: dict[tuple[str, str | None, str, int | None], Entrant] = {}
    for method in chosen or methods():
        for block in blocks or (None,):
            options = Options(block=block, accumulate=accumulate)
            try:
                method.options(options)
            except InputError:
                if chosen:
                    raise
                continue
            for new in _on_executors(method, options, executor_names):
                entered.setdefault((new.method, new.of, new.executor, new.block), new)
    if not entered:
        raise InputError("no method takes these options; name the methods with --method")
    libraries = [Entrant(p.name, p.through, p.device, p.on_operands, is_peer=True) for p in peers()]
    return libraries + list(entered.values())


def _on_executors(method: Method, options: Options, names: Sequence[str]) -> Iterator[Entrant]:
    """A method's entrants, and the driver's own programs on the same plan."""
    plan = method.plan(Shape(1, 1, 1), options)
    for name in names:
        tuned = choose(method, options, name)
        executor = find_executor(tuned.executor, plan)
        yield _entrant(method, Choice(tuned.options, executor.name, tuned.tuning), executor)
    suitable = able(plan)
    for executor in suitable:
        has = executor.capabilities
        if not names and not has.is_reference and not has.runs_driver_programs:
            yield _entrant(method, Choice(options, executor.name), executor)
    for executor in suitable:
        if executor.capabilities.runs_driver_programs:
            yield _entrant(method, Choice(options, executor.name), executor, is_peer=True)


def _entrant(
    method: Method, choice: Choice, executor: Executor, *, is_peer: bool = False
) -> Entrant:
    options = method.options(choice.options)
    machine = Machine(tuning=choice.tuning)

    @contextmanager
    def on_operands(a: F32, b: F32) -> Iterator[OneRun]:
        plan = method.plan(Shape(a.shape[0], a.shape[1], b.shape[1]), options)
        with executor.prepare(plan, machine) as prepared:

            def one_run() -> tuple[float, F32]:
                result = prepared.run({"A": a, "B": b})
                return result.timings.compute_s, result.outputs["C"]

            yield one_run

    return Entrant(
        DRIVER_PEER if is_peer else method.name,
        executor.name,
        executor.device(),
        on_operands,
        options.block,
        options.accumulate,
        method.name if is_peer else None,
        is_peer,
    )


# Measuring ---------------------------------------------------------------------------------------


def count_steps(entered: Sequence[Entrant], sizes: Iterable[int], repeat: int) -> int:
    """How often `measure` reports progress."""
    return len(entered) * len(set(sizes)) * (repeat + 1)


def measure(
    entered: Sequence[Entrant],
    sizes: Iterable[int],
    repeat: int,
    budget: Budget,
    *,
    seed: int = 0,
    progress: Callable[[str], object] | None = None,
    save: Callable[[Bench], object] = lambda _: None,
) -> Bench:
    """Measure all entrants at all sizes, the smallest first, on random n×n matrices.

    repeat: rounds at each size. progress: called with a description, `count_steps` times. save:
    called with the results so far whenever there are new ones, and with all of them at the end.
    Raises InputError for a size or a number of rounds below 1.
    """
    wanted = sorted(set(sizes))
    if not wanted or wanted[0] < 1:
        raise InputError(f"the size is {wanted[0] if wanted else 0}; it must be at least 1")
    rounds, products = Rounds(repeat), Products(seed)
    place, packages = here(), versions()

    def bench(measured: Measured[Entrant, Checked]) -> Bench:
        return Bench(
            **provenance(Bench, place.driver),
            device=place.device,
            versions=packages,
            seed=seed,
            repeat=repeat,
            budget_s=budget.seconds,
            spent_s=measured.spent_s,
            busy_share=measured.busy_share,
            results=tuple(_result(outcome) for outcome in measured.outcomes),
            not_run=tuple(_skipped(entry) for entry in measured.not_run),
        )

    jobs = [
        products.job(entrant, size, str(entrant), entrant.on_operands)
        for size in wanted
        for entrant in entered
    ]
    listener: Listener[Entrant, Checked] = Listener(
        progress or (lambda _: None),
        lambda measured: save(bench(measured)),
    )
    result = bench(engine.measure(jobs, budget, rounds, listener=listener))
    save(result)
    return result


def _result(outcome: Outcome[Entrant, Checked]) -> Result:
    entrant, size, seconds = outcome.job.series, outcome.job.size, outcome.seconds
    error = outcome.checked.max_relative_error
    return Result(
        method=entrant.method,
        of=entrant.of,
        peer=entrant.is_peer,
        executor=entrant.executor,
        device=entrant.device,
        size=size,
        block=entrant.block,
        accumulate=entrant.accumulate.value if entrant.accumulate else None,
        seconds=seconds,
        spread=outcome.spread,
        runs=len(outcome.samples),
        first_run=outcome.is_first_run,
        samples=outcome.samples,
        gflops=2e-9 * size**3 / seconds if seconds > 0.0 else None,
        max_relative_error=error if np.isfinite(error) else None,
        rows_checked=outcome.checked.rows,
    )


def _skipped(entry: NotRun[Entrant, Checked]) -> Skipped:
    entrant = entry.job.series
    return Skipped(
        method=entrant.method,
        of=entrant.of,
        executor=entrant.executor,
        size=entry.job.size,
        block=entrant.block,
        accumulate=entrant.accumulate.value if entrant.accumulate else None,
        reason=entry.reason,
    )
