"""What is measured: methods on executors and their peers, each ready to multiply two matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.peers import OneRun, OnOperands, Peer, peers
from gpgpu_legacy.measure.tuned import Choice, choose
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.registry import able, find_executor

DRIVER_PEER = "driver-arbfp"


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
    for number in blocks:
        as_positive("block", number)
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
        raise InputError("no method has all of these options; leave one out")
    return [entrant_of_peer(peer) for peer in peers()] + list(entered.values())


def _on_executors(method: Method, options: Options, names: Sequence[str]) -> Iterator[Entrant]:
    """A method's entrants, and the driver's own programs on the same plan."""
    plan = method.plan(Shape(1, 1, 1), options)
    for name in names:
        tuned = choose(method, options, name)
        executor = find_executor(tuned.executor, plan)
        yield entrant_of(method, Choice(tuned.options, executor.name, tuned.tuning), executor)
    suitable = able(plan)
    for executor in suitable:
        has = executor.capabilities
        if not names and not has.is_reference and not has.runs_driver_programs:
            yield entrant_of(method, Choice(options, executor.name), executor)
    for executor in suitable:
        if executor.capabilities.runs_driver_programs:
            yield entrant_of(method, Choice(options, executor.name), executor, is_peer=True)


def entrant_of_peer(peer: Peer) -> Entrant:
    """A library's own product."""
    return Entrant(peer.name, peer.through, peer.device, peer.on_operands, is_peer=True)


def entrant_of(
    method: Method, choice: Choice, executor: Executor, *, is_peer: bool = False
) -> Entrant:
    """A method by a choice of options on an executor. is_peer: it is the driver's own program."""
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
