"""The meaning of a Repeat, which is its body once for each iteration, and of an Until.

`expand` is the definition: every reader of plans must treat a plan and its expansion alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any, TypeVar

from gpgpu_legacy.plan.numbers import (
    Affine,
    Integer,
    Number,
    NumberVec4,
    PerIteration,
    Table,
)
from gpgpu_legacy.plan.plan import (
    ClearPass,
    ComputePass,
    CopyPass,
    Corners,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Round,
    Step,
    UniformValue,
    Until,
    moves,
    numbers,
    settled_steps,
    varies,
)
from gpgpu_legacy.plan.textures import MovingRect, Rect, rect_numbers


def expand(plan: Plan, iterations: Sequence[int] | None = None) -> Plan:
    """The same plan without Repeats: their passes are written out, with constant numbers.

    iterations: as for `settled`. Raises InputError for anything but a Plan.
    """
    return replace(plan, steps=tuple(passes(settled(plan, iterations))))


def settled(plan: Plan, iterations: Sequence[int] | None = None) -> Plan:
    """The plan with the steps that run if its Untils have the given iterations.

    iterations: of each Until, in the order in which they begin; None for the most. Raises PlanError
    for a number that an Until cannot have, and for too few or too many of them.
    """
    steps = settled_steps(plan, iterations)
    return plan if steps is plan.steps else replace(plan, steps=steps)


def without_tables(plan: Plan) -> Plan:
    """The same plan without Tables and MovingRects: every Repeat that has any is expanded.

    In the Repeats that are left, only Affine numbers change, and no rectangle moves.
    """
    steps = tuple(_without_tables(plan.steps))
    return plan if steps == plan.steps else replace(plan, steps=steps)


def _without_tables(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        match step:
            case Repeat(count, body) if any(map(is_written_out, body)):
                yield from (at_iteration(pass_, i) for i in range(count) for pass_ in body)
            case Until():
                yield with_rounds(step, lambda r: replace(r, body=tuple(_without_tables(r.body))))
            case _:
                yield step


def with_rounds(until: Until, change: Callable[[Round], Round]) -> Until:
    """The loop with change(round) in place of each of its rounds."""
    rounds, end = (tuple(map(change, some)) for some in (until.rounds, until.end))
    return replace(until, rounds=rounds, end=end)


def is_written_out(pass_: Pass) -> bool:
    """Whether executors get a Repeat of this pass written out; see without_tables."""
    return moves(pass_) or any(isinstance(number, Table) for number in numbers(pass_))


def passes(plan: Plan) -> Iterator[Pass]:
    """The passes of the expanded plan in the order in which they run, as a generator."""
    return (pass_ for _, pass_, _ in execution_order(plan))


def execution_order(plan: Plan) -> Iterator[tuple[Pass, Pass, int]]:
    """Each pass that runs, in order: as the plan writes it, as it runs, and the iteration, from 0.

    The first can be the key of things that do not depend on the iteration, such as a shader.
    """
    for step in plan.steps_at_most:
        if isinstance(step, Repeat):
            for iteration in range(step.count):
                for pass_ in step.body:
                    yield pass_, at_iteration(pass_, iteration), iteration
        else:
            yield step, step, 0


P = TypeVar("P", bound=Pass)


def at_iteration(pass_: P, iteration: int) -> P:
    """A pass of a Repeat with one iteration's numbers; the same object if no number changes."""
    if not varies(pass_):
        return pass_
    return with_numbers(pass_, lambda number: number_at(number, iteration))


def with_numbers(pass_: P, change: Callable[[Number], Number]) -> P:
    """The pass with change(number) in place of each number that a Repeat could change."""
    vector, rect = partial(_mapped, change), partial(_changed_rect, change)
    changed = dict[str, Any]()

    def values(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(part, value=vector(part.value)) for part in parts)

    def corners(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(p, corners=_mapped_corners(change, p.corners)) for p in parts)

    match pass_:
        case FragmentPass():
            changed["rect"] = rect(pass_.rect)
            changed["texcoords"] = corners(pass_.texcoords)
            changed["locals"] = values(pass_.locals)
            changed["env"] = values(pass_.env)
            changed["attributes"] = corners(pass_.attributes)
            changed["state"] = values(pass_.state)
            changed["scissor"] = pass_.scissor and rect(pass_.scissor)
        case CopyPass():
            changed["source_rect"] = rect(pass_.source_rect)
            changed["target_rect"] = rect(pass_.target_rect)
        case ClearPass():
            changed["value"] = vector(pass_.value)
        case ComputePass():
            changed["groups"] = tuple(_whole(change(n)) for n in pass_.groups)
            changed["uniforms"] = tuple(
                UniformValue(u.name, change(u.value)) for u in pass_.uniforms
            )
    return replace(pass_, **changed)


def with_textures(pass_: P, names: Mapping[str, str]) -> P:
    """The pass on other textures: `names` maps old names to new ones where they differ."""
    if not names:
        return pass_

    def bound(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(part, texture=renamed(part.texture)) for part in parts)

    def renamed(name: str) -> str:
        return names.get(name, name)

    changed: dict[str, Any]
    match pass_:
        case FragmentPass():
            targets = tuple(map(renamed, pass_.targets))
            changed = {"bindings": bound(pass_.bindings), "targets": targets}
        case ComputePass():
            changed = {"buffers": bound(pass_.buffers)}
        case CopyPass():
            changed = {"source": renamed(pass_.source), "target": renamed(pass_.target)}
        case ClearPass():
            changed = {"target": renamed(pass_.target)}
    return replace(pass_, **changed)


def _changed_rect(change: Callable[[Number], Number], rect: Rect | MovingRect) -> Rect | MovingRect:
    x, y, width, height = (_whole(change(number)) for number in rect_numbers(rect))
    if any(isinstance(number, PerIteration) for number in (x, y, width, height)):
        return MovingRect(x, y, width, height)
    return Rect(x, y, width, height)  # type: ignore[arg-type]


def _whole(number: Number) -> Integer:
    """A whole number as an int; any other number as it is, for validation to refuse."""
    if isinstance(number, PerIteration) or type(number) is int or not float(number).is_integer():
        return number  # type: ignore[return-value]
    return int(number)


def number_at(value: Number, iteration: int) -> float:
    """The value of a number in the given iteration, counted from 0."""
    return value.at(iteration) if isinstance(value, PerIteration) else value


def values_of(value: Number, count: int) -> Iterable[float]:
    """The values of a number in the `count` iterations of a Repeat, in order."""
    match value:
        case Table(values=values):
            return values
        case Affine():
            return map(value.at, range(count))
    return repeat(value, count)


def extremes_of(value: Number, count: int) -> Iterable[float]:
    """Values that include the extremes over all iterations; for an Affine, the first and last."""
    if isinstance(value, Affine):
        return map(value.at, (0, max(count - 1, 0)))
    return values_of(value, 1)


def drawn_areas(pass_: FragmentPass, count: int) -> Iterable[tuple[int, int]]:
    """Pairs of a number of iterations and the fragments that the pass draws in each of these.

    The pairs are in order. If nothing moves, there is one pair for all `count` iterations of the
    Repeat, since the count may be larger than anybody could run.
    """
    if not moves(pass_):
        return [(count, pass_.drawn.area)]
    return ((1, at_iteration(pass_, iteration).drawn.area) for iteration in range(count))


def total_area(rect: Rect | MovingRect, count: int) -> int:
    """The area of a rectangle summed over the `count` iterations of a Repeat, in texels."""
    if isinstance(rect, Rect):
        return rect.area * count
    return sum(rect.at(iteration).area for iteration in range(count))


def corners_at(corners: Corners, iteration: int) -> Corners:
    """Corner values in the given iteration, counted from 0."""
    return _mapped_corners(lambda number: number_at(number, iteration), corners)


def _mapped_corners(change: Callable[[Number], Number], corners: Corners) -> Corners:
    a, b, c, d = (_mapped(change, corner) for corner in corners)
    return (a, b, c, d)


def _mapped(change: Callable[[Number], Number], values: NumberVec4) -> NumberVec4:
    x, y, z, w = map(change, values)
    return (x, y, z, w)
