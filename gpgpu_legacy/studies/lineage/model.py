"""The product by every method, in the order of history, on one machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import methods
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.measure import engine
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.entrants import Entrant, entrant_of, entrant_of_peer
from gpgpu_legacy.measure.jobs import Listener, Measured, Outcome
from gpgpu_legacy.measure.other_work import busy_warning
from gpgpu_legacy.measure.peers import Peer, peers
from gpgpu_legacy.measure.platform import this_platform
from gpgpu_legacy.measure.products import Checked, Products
from gpgpu_legacy.measure.rounds import Rounds
from gpgpu_legacy.measure.tuned import choose
from gpgpu_legacy.runtime.registry import find_executor
from gpgpu_legacy.serial import as_record, provenance
from gpgpu_legacy.studies.lineage.record import Ceiling, Lineage, Step

QUICK_S = 2.0  # a job that takes longer is run once
ROUNDS = Rounds(3, round_s=0.25, most_runs=50, longest_s=QUICK_S)

_Measured = Measured[Entrant, Checked]
_Outcome = Outcome[Entrant, Checked]


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

    executor: the one to run all methods on; `auto` chooses for each. A method's ceiling is that of
    the
    device it runs on: cuBLAS on a GPU, where there is torch or CuPy, else NumPy's BLAS.
    progress: called with a description, `count_steps` times. save: called with the results so far
    whenever there are new ones, and with all of them at the end.
    Raises InputError for a size below 1 and for an executor that cannot run a method.
    """
    as_positive("the size", size)
    libraries, products = {peer: entrant_of_peer(peer) for peer in peers()}, Products(seed)
    members = [_member(method, size, executor, list(libraries)) for method in methods()]
    platform = this_platform()

    def record(measured: _Measured) -> Lineage:
        ceilings = {
            peer.title: _ceiling(peer, entrant, members, measured)
            for peer, entrant in libraries.items()
            if _outcome(measured, entrant)
        }
        return Lineage(
            **provenance(platform.driver),
            size=size,
            ceilings=tuple(ceilings.values()),
            steps=tuple(_step(member, size, ceilings, measured) for member in members),
            busy_share=measured.busy_share,
        )

    jobs = [
        products.job(entrant, size, str(entrant), entrant.on_operands)
        for entrant in (*libraries.values(), *(member.entrant for member in members))
    ]
    listener: Listener[Entrant, Checked] = Listener(
        progress or (lambda _: None), lambda measured: save(record(measured))
    )
    result = record(engine.measure(jobs, budget or Budget(inf), ROUNDS, listener=listener))
    save(result)
    return result


def _member(method: Method, size: int, executor: str, libraries: list[Peer]) -> _Member:
    choice = choose(method.algorithm, {}, executor)
    options = method.options(Options(**choice.given))
    plan = method.plan(Shape(size, size, size), options)
    runner = find_executor(choice.executor, plan)
    host = next(peer for peer in libraries if not peer.on_gpu)
    ceiling = next((peer for peer in libraries if peer.on_gpu and runner.is_hardware()), host)
    entrant = entrant_of(method, options, runner, choice.machine.tuning)
    return _Member(method, entrant, count_plan(plan), ceiling)


def _outcome(measured: _Measured, entrant: Entrant) -> _Outcome | None:
    return next((result for result in measured.outcomes if result.job.series is entrant), None)


def _ceiling(
    peer: Peer, entrant: Entrant, members: Sequence[_Member], measured: _Measured
) -> Ceiling:
    """The peer's fastest sample, held against the methods on the same device."""
    outcome = _outcome(measured, entrant)
    assert outcome is not None
    size, (fastest_s, _) = outcome.job.size, outcome.spread
    under = [_outcome(measured, member.entrant) for member in members if member.ceiling is peer]
    is_passed = any(method is not None and method.seconds < fastest_s for method in under)
    return Ceiling(
        name=peer.title,
        device=peer.device,
        gflops=Shape(size, size, size).gflops(fastest_s) or 0.0,
        disturbed=is_passed and busy_warning(measured.busy_share) is not None,
    )


def _step(member: _Member, size: int, ceilings: Mapping[str, Ceiling], measured: _Measured) -> Step:
    method, entrant, counts = member.method, member.entrant, member.counts
    outcome = _outcome(measured, entrant)
    reasons = [entry.reason for entry in measured.not_run if entry.job.series is entrant]
    gflops = Shape(size, size, size).gflops(outcome.seconds) if outcome else None
    ceiling = ceilings.get(member.ceiling.title)
    fraction = None
    if gflops and ceiling and ceiling.gflops and not ceiling.disturbed:
        fraction = gflops / ceiling.gflops
    return as_record(
        Step,
        method,
        entrant,
        counts,
        method=method.name,
        multiply_adds_per_byte=size**3 / counts.bytes_requested,
        seconds=outcome.seconds if outcome else None,
        spread=outcome.spread if outcome else None,
        runs=len(outcome.samples) if outcome else None,
        first_run=outcome is not None and outcome.is_first_run,
        reason=next(iter(reasons), None),
        gflops=gflops,
        ceiling=member.ceiling.title,
        fraction_of_ceiling=fraction,
    )
