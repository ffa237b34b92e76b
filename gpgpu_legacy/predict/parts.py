"""Splits a plan into parts to be timed: steps that do the same work are one part.

A plan of many passes has few kinds of them: the passes of all tiles of a large product draw alike
and differ only in their textures. So a part is a plan of its own, with its textures called by their
order, and equal parts are analysed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from gpgpu_legacy.lower.analysis.affine import Linear, lookup_coordinates
from gpgpu_legacy.plan.expand import at_iteration, passes, with_textures
from gpgpu_legacy.plan.numbers import Affine, NumberVec4, PerIteration, Table
from gpgpu_legacy.plan.plan import (
    ComputePass,
    Corners,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    Step,
    moves,
    numbered_steps,
    passes_of,
    read_by,
    varies,
    written_by,
)


@dataclass(frozen=True, slots=True)
class PlanPart:
    """Steps of a plan that do the same work.

    plan: of one of them, by itself. passes: of the first, as the whole plan writes them. numbers:
    of the passes of all steps. times: the number of steps.
    """

    plan: Plan
    passes: tuple[Pass, ...]
    numbers: tuple[range, ...]
    times: int


def parts_of(plan: Plan, *, apart: bool) -> tuple[PlanPart, ...]:
    """The parts of a plan, in the order in which they first run.

    apart: every pass is a part; if not, a Repeat is one, so that its passes may be fused.
    """
    alike: dict[Plan, list[tuple[tuple[range, ...], Step]]] = {}
    for numbers, step in _steps(plan, apart=apart):
        alike.setdefault(_by_itself(plan, step), []).append((numbers, step))
    return tuple(
        PlanPart(part, passes_of(same[0][1]), tuple(chain(*(n for n, _ in same))), len(same))
        for part, same in alike.items()
    )


def _steps(plan: Plan, *, apart: bool) -> Iterator[tuple[tuple[range, ...], Step]]:
    """The steps of a plan that run, with their passes' numbers; passes of a Repeat one by one."""
    for numbers, step in numbered_steps(plan):
        if apart and isinstance(step, Repeat):
            for one, pass_ in zip(numbers, step.body, strict=True):
                yield (one,), Repeat(step.count, (pass_,))
        else:
            yield numbers, step


def _by_itself(plan: Plan, step: Step) -> Plan:
    """A plan of one step, without transfers, its textures called by their order in the step."""
    used = (name for p in passes_of(step) for name in (*read_by(p), *written_by(p)))
    names = {name: str(n) for n, name in enumerate(dict.fromkeys(used))}
    textures = tuple(
        replace(plan.texture(name), name=new, initial=None) for name, new in names.items()
    )
    body = tuple(with_textures(_without_unused(p), names) for p in passes_of(step))
    renamed: Step = Repeat(step.count, body) if isinstance(step, Repeat) else body[0]
    return Plan(plan.name, (), (), textures, (), (renamed,), ())


def _without_unused(pass_: Pass) -> Pass:
    """The pass without the buffers that its kernel neither loads from nor stores to."""
    if not isinstance(pass_, ComputePass):
        return pass_
    used = {*read_by(pass_), *written_by(pass_)}
    return replace(pass_, buffers=tuple(b for b in pass_.buffers if b.texture in used))


# Repeats ----------------------------------------------------------------------------------------


def expand_opaque_repeats(plan: Plan) -> Plan:
    """The same plan, with a Repeat expanded if only its single iterations can be analysed."""
    steps: list[Step] = []
    for step in plan.steps:
        if (
            isinstance(step, Repeat)
            and step.count > 0
            and any(_needs_iteration(pass_, step.count) for pass_ in step.body)
        ):
            steps += passes(replace(plan, steps=(step,)))
        else:
            steps.append(step)
    return replace(plan, steps=tuple(steps))


def _needs_iteration(pass_: Pass, count: int) -> bool:
    """Whether only single iterations of a pass can be analysed.

    This is so if it moves, if the slopes of its coordinates change, or if a coordinate is affine in
    one iteration, with parameters that vary set to 1, but not over all iterations.
    """
    if moves(pass_):
        return True
    if not isinstance(pass_, FragmentPass) or not varies(pass_):
        return False
    if any(_slope_changes(coordinates.corners) for coordinates in pass_.texcoords):
        return True
    in_all = chain(*lookup_coordinates(pass_, count))
    first = at_iteration(pass_, 0)
    assert isinstance(first, FragmentPass)
    first = replace(first, locals=_with_ones(pass_.locals), env=_with_ones(pass_.env))
    in_one = chain(*lookup_coordinates(first))
    return any(
        isinstance(one, Linear) and not isinstance(whole, Linear)
        for one, whole in zip(in_one, in_all, strict=True)
    )


def _slope_changes(corners: Corners) -> bool:
    """Whether values at the corners vary, other than all by the same step per iteration."""
    for numbers in zip(*corners, strict=True):
        steps = {number.step if isinstance(number, Affine) else 0 for number in numbers}
        if len(steps) > 1 or any(isinstance(number, Table) for number in numbers):
            return True
    return False


def _with_ones(parameters: tuple[ParameterValue, ...]) -> tuple[ParameterValue, ...]:
    def vector(values: NumberVec4) -> NumberVec4:
        x, y, z, w = (1.0 if isinstance(value, PerIteration) else value for value in values)
        return x, y, z, w

    return tuple(replace(parameter, value=vector(parameter.value)) for parameter in parameters)
