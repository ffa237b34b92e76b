"""Repeats whose coordinates can be analysed only iteration by iteration."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from gpgpu_legacy.lower.analysis.affine import Linear, lookup_coordinates
from gpgpu_legacy.plan.expand import at_iteration, moves, passes, varies
from gpgpu_legacy.plan.numbers import Affine, NumberVec4, PerIteration, Table
from gpgpu_legacy.plan.plan import Corners, FragmentPass, ParameterValue, Pass, Plan, Repeat, Step


def expand_opaque_repeats(plan: Plan) -> Plan:
    """The same plan, with a Repeat expanded if single iterations of it tell more than the whole."""
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, Repeat) and _is_opaque(step):
            steps += passes(replace(plan, steps=(step,)))
        else:
            steps.append(step)
    return replace(plan, steps=tuple(steps))


def _is_opaque(repeat: Repeat) -> bool:
    return repeat.count > 0 and any(_needs_iteration(pass_, repeat.count) for pass_ in repeat.body)


def _needs_iteration(pass_: Pass, count: int) -> bool:
    """Whether only a single iteration of a pass tells what it does, or where it looks up.

    That is so if it moves, if the slopes of its coordinates change, or if a coordinate is affine in
    one iteration, with parameters that vary set to 1, but not over all iterations.
    """
    if moves(pass_):
        return True
    if not isinstance(pass_, FragmentPass) or not varies(pass_):
        return False
    if any(_slope_changes(coordinates.corners) for coordinates in pass_.texcoords):
        return True
    in_all = chain(*lookup_coordinates(pass_, count))
    in_one = chain(*lookup_coordinates(_first_iteration(pass_)))
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


def _first_iteration(pass_: FragmentPass) -> FragmentPass:
    """The pass in the first iteration, with 1 for parameters that vary."""
    first = at_iteration(pass_, 0)
    assert isinstance(first, FragmentPass)
    return replace(first, locals=_with_ones(pass_.locals), env=_with_ones(pass_.env))


def _with_ones(parameters: tuple[ParameterValue, ...]) -> tuple[ParameterValue, ...]:
    def vector(values: NumberVec4) -> NumberVec4:
        x, y, z, w = (1.0 if isinstance(value, PerIteration) else value for value in values)
        return x, y, z, w

    return tuple(replace(parameter, value=vector(parameter.value)) for parameter in parameters)
