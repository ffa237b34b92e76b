"""Which Repeats an analysis of coordinates knows as a whole, and which by iterations alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from gpgpu_legacy.lower.affine import Linear, lookup_coordinates
from gpgpu_legacy.plan.expand import at_iteration, moves, passes, varies
from gpgpu_legacy.plan.plan import (
    Affine,
    Corners,
    FragmentPass,
    NumberVec4,
    ParameterValue,
    Pass,
    PerIteration,
    Plan,
    Repeat,
    Step,
    Table,
)


def known_by_iteration(plan: Plan) -> Plan:
    """The same plan; Repeats of which a single iteration tells more than all are written out."""
    steps: list[Step] = []
    for step in plan.steps:
        if (
            isinstance(step, Repeat)
            and step.count
            and any(_differs(each, step.count) for each in step.body)
        ):
            steps += passes(replace(plan, steps=(step,)))
        else:
            steps.append(step)
    return replace(plan, steps=tuple(steps))


def _differs(each: Pass, count: int) -> bool:
    """Whether it takes one iteration of a pass alone to know what it does, or where it looks up.

    So it is where it moves or its coordinates' slopes change, and where a coordinate that is not
    affine over all iterations is so in one, all parameters that vary being 1.
    """
    if moves(each):
        return True
    if not isinstance(each, FragmentPass) or not varies(each):
        return False
    if any(_slope_changes(given.corners) for given in each.texcoords):
        return True
    known = chain(*lookup_coordinates(each, count))
    alone = chain(*lookup_coordinates(_settled(each)))
    return any(
        isinstance(one, Linear) and not isinstance(all_of_them, Linear)
        for one, all_of_them in zip(alone, known, strict=True)
    )


def _slope_changes(corners: Corners) -> bool:
    """Whether values at corners vary in any way but all by one step an iteration."""
    for numbers in zip(*corners, strict=True):
        steps = {number.step if isinstance(number, Affine) else 0 for number in numbers}
        if len(steps) > 1 or any(isinstance(number, Table) for number in numbers):
            return True
    return False


def _settled(each: FragmentPass) -> FragmentPass:
    """The pass of the first iteration, with parameters of 1 in place of those that vary."""
    first = at_iteration(each, 0)
    assert isinstance(first, FragmentPass)
    return replace(first, locals=_ones(each.locals), env=_ones(each.env))


def _ones(parameters: tuple[ParameterValue, ...]) -> tuple[ParameterValue, ...]:
    def vector(values: NumberVec4) -> NumberVec4:
        x, y, z, w = (1.0 if isinstance(value, PerIteration) else value for value in values)
        return x, y, z, w

    return tuple(replace(given, value=vector(given.value)) for given in parameters)
