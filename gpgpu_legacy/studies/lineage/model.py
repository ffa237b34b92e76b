"""The product by every method, in the order of history, on one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import methods
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure import engine
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.engine import Listener, Measured, Outcome
from gpgpu_legacy.measure.entrants import Entrant, entrant_of, entrant_of_peer
from gpgpu_legacy.measure.peers import Peer, peers
from gpgpu_legacy.measure.products import Checked, Products
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.measure.tuned import Choice, choose, here
from gpgpu_legacy.runtime.registry import find_executor
from gpgpu_legacy.serial import provenance
from gpgpu_legacy.studies.lineage.record import Ceiling, Lineage, Step

QUICK_S = 2.0  # a job that takes longer is run once
ROUNDS = Rounds(3, longest_s=QUICK_S)


@dataclass(frozen=True, slots=True)
class _Member:
    """A method on its executor, with what its plan asks for. ceiling: the peer on its device."""

    method: Method
    entrant: Entrant
    counts: Counts
    ceiling: Peer


def count_steps() -> int:
    """How often `lineage` reports progress."""
    return (len(methods()) + len(list(peers()))) * (1 + ROUNDS.count)


def lineage(
    size: int,
    seed: int = 0,
    executor: str = "auto",
    budget: Budget | None = None,
    *,
    progress: Callable[[str], object] | None = None,
    save: Callable[[Lineage], object] = lambda _: None,
) -> Lineage:
    """Run every method on random n×n matrices, in turn with the libraries that are its ceiling.

    executor: the one to run all methods on; `auto` chooses for each. A method's ceiling is of the
    machine that it runs on: cuBLAS for a GPU, where there is torch or CuPy, else NumPy's BLAS.
    progress: called with a description, `count_steps` times. save: called with the results so far
    whenever there are new ones, and with all of them at the end.
    Raises InputError for a size below 1 and for an executor that cannot run a method.
    """
    if size < 1:
        raise InputError(f"the size is {size}; it must be at least 1")
    libraries, products = list(peers()), Products(seed)
    members = [_member(method, size, executor, libraries) for method in methods()]
    driver = here().driver

    def record(measured: Measured[Entrant, Checked]) -> Lineage:
        outcomes = {outcome.job.series: outcome for outcome in measured.outcomes}
        reasons = {entry.job.series: entry.reason for entry in measured.not_run}
        ceilings = {
            peer.name: _ceiling(peer, outcomes[entrant])
            for peer, entrant in zip(libraries, of_libraries, strict=True)
            if entrant in outcomes
        }
        return Lineage(
            **provenance(Lineage, driver),
            size=size,
            ceilings=tuple(ceilings.values()),
            steps=tuple(
                _step(member, size, outcomes.get(member.entrant), reasons, ceilings)
                for member in members
            ),
            busy_share=measured.busy_share,
        )

    of_libraries = [entrant_of_peer(peer) for peer in libraries]
    jobs = [
        products.job(entrant, size, str(entrant), entrant.on_operands)
        for entrant in (*of_libraries, *(member.entrant for member in members))
    ]
    listener: Listener[Entrant, Checked] = Listener(
        progress or (lambda _: None), lambda measured: save(record(measured))
    )
    result = record(engine.measure(jobs, budget or Budget(float("inf")), ROUNDS, listener=listener))
    save(result)
    return result


def _member(method: Method, size: int, executor: str, libraries: list[Peer]) -> _Member:
    choice = choose(method, Options(), executor)
    plan = method.plan(Shape(size, size, size), method.options(choice.options))
    runner = find_executor(choice.executor, plan)
    host = next(peer for peer in libraries if not peer.on_gpu)
    ceiling = next((peer for peer in libraries if peer.on_gpu and runner.is_hardware()), host)
    chosen = Choice(choice.options, runner.name, choice.tuning)
    return _Member(method, entrant_of(method, chosen, runner), count_plan(plan), ceiling)


def _ceiling(peer: Peer, outcome: Outcome[Entrant, Checked]) -> Ceiling:
    gflops = 2e-9 * outcome.job.size**3 / outcome.seconds
    return Ceiling(name=peer.title, device=peer.device, gflops=gflops)


def _step(
    member: _Member,
    size: int,
    outcome: Outcome[Entrant, Checked] | None,
    reasons: dict[Entrant, str],
    ceilings: dict[str, Ceiling],
) -> Step:
    method, entrant, counts = member.method, member.entrant, member.counts
    gflops = None
    if outcome is not None and outcome.seconds > 0.0:
        gflops = 2e-9 * size**3 / outcome.seconds
    ceiling = ceilings.get(member.ceiling.name)
    return Step(
        year=method.year,
        method=method.name,
        paper=method.paper,
        lacked=method.lacked,
        executor=entrant.executor,
        device=entrant.device,
        block=entrant.block,
        accumulate=entrant.accumulate.value if entrant.accumulate else None,
        multiply_adds_per_byte=size**3 / counts.bytes_requested,
        bytes_requested=counts.bytes_requested,
        arithmetic=counts.arithmetic,
        seconds=outcome.seconds if outcome else None,
        spread=outcome.spread if outcome else None,
        runs=len(outcome.samples) if outcome else None,
        first_run=outcome is not None and outcome.is_first_run,
        reason=reasons.get(entrant),
        gflops=gflops,
        ceiling=member.ceiling.title,
        fraction_of_ceiling=gflops / ceiling.gflops if gflops and ceiling else None,
    )
