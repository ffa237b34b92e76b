"""How much work a plan is, and the beginning of a plan as a smaller one to probe.

The engine expects that a run of size n takes seconds that grow with n³, as a product of n×n
matrices does. So the size of a plan is the cube root of its work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import cbrt, ceil

from gpgpu_legacy.count.traffic import count_repeated
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.plan.expand import at_iteration, moves, per_iteration_numbers, varies
from gpgpu_legacy.plan.numbers import Table
from gpgpu_legacy.plan.plan import ComputePass, Pass, Plan, Repeat, Step

ZERO = (0.0, 0.0, 0.0, 0.0)
WORD_BYTES = 4  # of what copies and clears move; a word counts as an instruction


def size_of(plan: Plan) -> int:
    """The size of a plan for the engine."""
    return _size(sum(_work(plan, pass_, count) for count, pass_ in plan.weighted_passes()))


def least_size(plan: Plan) -> int:
    """The size of the smallest plan that `beginning` gives."""
    return _size(next((work for work, _, _ in _portions(plan)), 0.0))


def beginning(plan: Plan, size: int) -> Plan:
    """The first passes of a plan, as many as fit that size, but at least one.

    Of a Repeat, whole iterations. Textures that the rest would have defined are 0.
    """
    left, steps = float(size**3), list[Step]()
    for work, count, step in _portions(plan):
        fit = count if work * count <= left else int(left // work)
        if not steps:
            fit = max(1, fit)
        steps += _repeated(step, fit)
        left -= work * fit
        if fit < count or left < 0.0:
            break
    textures = tuple(replace(t, initial=t.initial or ZERO) for t in plan.textures)
    return replace(plan, steps=tuple(steps), textures=textures)


def _portions(plan: Plan) -> Iterator[tuple[float, int, Step]]:
    """Steps in order: the work of one, how often it is repeated, and the step itself.

    A Repeat with Tables or moving rectangles is given an iteration at a time, others whole.
    """
    for step in plan.steps:
        if not isinstance(step, Repeat):
            yield _work(plan, step), 1, step
        elif step.count and not _changes_work(step):
            yield sum(_work(plan, at_iteration(p, 0)) for p in step.body), step.count, step
        else:
            for iteration in range(step.count):
                body = tuple(at_iteration(pass_, iteration) for pass_ in step.body)
                yield sum(_work(plan, pass_) for pass_ in body), 1, Repeat(1, body)


def _changes_work(step: Repeat) -> bool:
    """Whether iterations may differ in work; a kernel's loops may depend on any uniform."""
    return any(moves(p) or (isinstance(p, ComputePass) and varies(p)) for p in step.body)


def _repeated(step: Step, count: int) -> tuple[Step, ...]:
    """The first iterations of a step."""
    if not isinstance(step, Repeat) or count == step.count:
        return (step,) if count else ()
    numbers = (number for pass_ in step.body for number in per_iteration_numbers(pass_))
    if not any(isinstance(number, Table) for number in numbers):
        return (Repeat(count, step.body),) if count else ()
    return tuple(at_iteration(pass_, i) for i in range(count) for pass_ in step.body)


def _work(plan: Plan, pass_: Pass, count: int = 1) -> float:
    """Instructions over all fragments or invocations and iterations, and one more for each."""
    try:
        counts = count_repeated(plan, pass_, count)
    except PlanError:  # a kernel whose loops depend on data
        assert isinstance(pass_, ComputePass)
        dispatches = (at_iteration(pass_, iteration) for iteration in range(count))
        return float(sum(d.invocations for d in dispatches if isinstance(d, ComputePass)))
    executed = counts.arithmetic + counts.lookup + counts.kill
    accesses = (
        counts.global_loads + counts.global_stores + counts.shared_loads + counts.shared_stores
    )
    moved = (counts.copy_bytes + counts.clear_bytes) / WORD_BYTES
    return executed + accesses + moved + counts.fragments + counts.invocations


def _size(work: float) -> int:
    return max(1, ceil(cbrt(work)))
