"""What is measured: methods on executors and their peers, each ready to multiply two matrices.

An entrant's time is that of computing alone or, if `entrants` is given what multiplies, that of a
whole call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.peers import OneRun, OnOperands, Peer, WholeCall, peers
from gpgpu_legacy.measure.tuned import choose
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import Machine, Tuning
from gpgpu_legacy.runtime.registry import able, find_executor

DRIVER_PEER = "driver-arbfp"

Multiply = Callable[[F32, F32, Method, Options, Machine, Executor], F32]
"""Multiplies two matrices by a method, in a whole call: what a user calls."""


@dataclass(frozen=True)
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
    *,
    peer_names: Sequence[str] = (),
    multiply: Multiply | None = None,
) -> list[Entrant]:
    """The libraries' own products, then methods by executors by blocks, each with its peer.

    method_names: all methods if empty; a block or an accumulation then leaves out methods that have
    none. executor_names: if empty, all that can run a method here but the reference machine.
    peer_names: all that this machine has if empty. multiply: what whole calls of a method are;
    without it, computing alone is timed.
    Raises InputError for unknown names, ExecutorUnavailableError for what cannot run here.
    """
    libraries = {peer.name: peer for peer in peers()}
    known = (*libraries, DRIVER_PEER)
    for name in peer_names:
        if name not in known:
            raise InputError(f"there is no peer {name!r} here; choose from {', '.join(known)}")
    wanted = peer_names or known
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
            for new in _on_executors(method, options, executor_names, multiply):
                if not new.is_peer or new.method in wanted:
                    entered.setdefault((new.method, new.of, new.executor, new.block), new)
    if not entered:
        raise InputError("no method has all of these options; leave one out")
    whole = multiply is not None
    chosen_peers = [peer for name, peer in libraries.items() if name in wanted]
    return [*(entrant_of_peer(peer, whole=whole) for peer in chosen_peers), *entered.values()]


def _on_executors(
    method: Method, options: Options, names: Sequence[str], multiply: Multiply | None
) -> Iterator[Entrant]:
    """A method's entrants, and the driver's own programs on the same plan."""
    plan = method.plan(Shape(1, 1, 1), options)
    entrant = partial(entrant_of, method, multiply=multiply)
    for name in names:
        tuned = choose(method.algorithm, options.given(), name)
        yield entrant(
            Options(**tuned.given), find_executor(tuned.executor, plan), tuned.machine.tuning
        )
    drivers, others = list[Executor](), list[Executor]()
    for executor in able(plan):
        (drivers if executor.capabilities.runs_driver_programs else others).append(executor)
    for executor in others if not names else ():
        if not executor.capabilities.is_reference:
            yield entrant(options, executor)
    for executor in drivers:
        yield entrant(options, executor, is_peer=True)


def entrant_of_peer(peer: Peer, *, whole: bool = False) -> Entrant:
    """A library's own product. whole: whether its time is that of a whole call."""
    on_operands = in_whole_calls(peer.whole_call) if whole else peer.on_operands
    return Entrant(peer.name, peer.through, peer.device, on_operands, is_peer=True)


def in_whole_calls(call: WholeCall) -> OnOperands:
    """Runs that are whole calls, timed by the host's clock; there is nothing to prepare."""

    @contextmanager
    def on_operands(a: F32, b: F32) -> Iterator[OneRun]:
        def one_run() -> tuple[float, F32]:
            started = perf_counter()
            product = call(a, b)
            return perf_counter() - started, product

        yield one_run

    return on_operands


def entrant_of(
    method: Method,
    chosen: Options,
    executor: Executor,
    tuning: Tuning | None = None,
    *,
    is_peer: bool = False,
    multiply: Multiply | None = None,
) -> Entrant:
    """A method with these options on an executor.

    is_peer: it is the driver's own program. multiply: what its whole calls are, if those are timed.
    """
    options, machine = method.options(chosen), Machine(tuning=tuning)

    @contextmanager
    def on_operands(a: F32, b: F32) -> Iterator[OneRun]:
        plan = method.plan(Shape(a.shape[0], a.shape[1], b.shape[1]), options)
        with executor.prepare(plan, machine) as prepared:

            def one_run() -> tuple[float, F32]:
                result = prepared.run({"A": a, "B": b})
                return result.timings.compute_s, result.outputs["C"]

            yield one_run

    def whole_call(a: F32, b: F32) -> F32:
        assert multiply is not None
        return multiply(a, b, method, options, machine, executor)

    return Entrant(
        DRIVER_PEER if is_peer else method.name,
        executor.name,
        executor.device(),
        on_operands if multiply is None else in_whole_calls(whole_call),
        options.block,
        options.accumulate,
        method.name if is_peer else None,
        is_peer,
    )
