"""What a Repeat means: its body, once for each iteration; and what an Until means.

`expand` is the definition: every reader of plans must treat a plan and its expansion alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, repeat
from operator import mul

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.plan.numbers import (
    Affine,
    Integer,
    Number,
    NumberVec4,
    PerIteration,
    Table,
)
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    ClearPass,
    ComputePass,
    CopyPass,
    Corners,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    StateValue,
    Step,
    Texcoords,
    UniformValue,
    Until,
)
from gpgpu_legacy.plan.textures import MovingRect, Rect


def expand(plan: Plan, iterations: Sequence[int] | None = None) -> Plan:
    """The same plan without Repeats: their passes are written out, with constant numbers.

    iterations: as for `settled`. Raises InputError for anything but a Plan.
    """
    return replace(plan, steps=tuple(passes(settled(plan, iterations))))


def settled(plan: Plan, iterations: Sequence[int] | None = None) -> Plan:
    """The plan with the steps that run if its Untils have those iterations.

    iterations: of each Until, in the order in which they begin; None for the most. Raises PlanError
    for a number that an Until cannot have, and for too few or too many of them.
    """
    steps = settled_steps(plan, iterations)
    return plan if steps is plan.steps else replace(plan, steps=steps)


def settled_steps(plan: Plan, iterations: Sequence[int] | None = None) -> tuple[Pass | Repeat, ...]:
    """The steps of `settled`; the plan's own if it has no Until."""
    if not any(isinstance(step, Until) for step in plan.steps):
        return plan.steps  # type: ignore[return-value]
    numbers = None if iterations is None else deque(iterations)
    steps = tuple(_settled(plan.steps, numbers))
    if numbers:
        raise PlanError(
            "more numbers of iterations are given than loops with a condition begin; give one for "
            "each",
            plan=plan.name,
        )
    return steps


def _settled(steps: Iterable[Step], numbers: deque[int] | None) -> Iterator[Pass | Repeat]:
    for step in steps:
        if isinstance(step, Until):
            yield from _iterations(step, numbers)
        else:
            yield step


def _iterations(until: Until, numbers: deque[int] | None) -> Iterator[Pass | Repeat]:
    """The steps of an Until; a cycle of its rounds that repeats is a Repeat where it can be."""
    if numbers is not None and not numbers:
        raise PlanError(
            "more loops with a condition begin than numbers of iterations are given; give one for "
            "each"
        )
    given = left = until.most if numbers is None else numbers.popleft()
    cycle = tuple(step for round_ in until.rounds for step in round_.body)
    skipped = 0
    if not any(isinstance(step, Until) for step in cycle):
        length = sum(round_.iterations for round_ in until.rounds)
        cycles = min(until.count // len(until.rounds), left // length) if length else 0
        yield from _repeated(cycles, tuple(_settled(cycle, None)))
        left, skipped = left - cycles * length, cycles * len(until.rounds)
    for round_ in islice(until.each_round(), skipped, None):
        if left < round_.iterations:
            yield from round_.restore
            break
        yield from _settled(round_.body, numbers)
        left -= round_.iterations
    if left:
        raise PlanError(
            f"a loop that asks every {until.every} of at most {until.most} iterations cannot end "
            f"after {given}"
        )


def _repeated(count: int, steps: tuple[Pass | Repeat, ...]) -> Iterable[Pass | Repeat]:
    """The steps, `count` times over."""
    bodies = [step.body if isinstance(step, Repeat) else (step,) for step in steps]
    counts = [step.count if isinstance(step, Repeat) else 1 for step in steps]
    if count < 2 or any(varies(pass_) for body in bodies for pass_ in body):
        return steps * count
    if len(steps) == 1:
        return (Repeat(count * counts[0], bodies[0]),)
    if all(number == 1 for number in counts):
        return (Repeat(count, tuple(chain(*bodies))),)
    return steps * count


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
                rounds, end = (
                    tuple(replace(r, body=tuple(_without_tables(r.body))) for r in some)
                    for some in (step.rounds, step.end)
                )
                yield replace(step, rounds=rounds, end=end)
            case _:
                yield step


def is_written_out(pass_: Pass) -> bool:
    """Whether executors get a Repeat of this pass written out; see without_tables."""
    return moves(pass_) or any(isinstance(number, Table) for number in numbers(pass_))


def moves(pass_: Pass) -> bool:
    """Whether a pass's rectangles or work groups change from iteration to iteration."""
    if isinstance(pass_, ComputePass):
        return any(isinstance(n, PerIteration) for n in pass_.groups)
    return any(isinstance(rect, MovingRect) for rect in rects(pass_))


def rects(pass_: Pass) -> tuple[Rect | MovingRect, ...]:
    """The rectangles that a pass covers."""
    match pass_:
        case FragmentPass():
            return (pass_.rect,) if pass_.scissor is None else (pass_.rect, pass_.scissor)
        case CopyPass():
            return pass_.source_rect, pass_.target_rect
    return ()


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


def at_iteration(pass_: Pass, iteration: int) -> Pass:
    """A pass of a Repeat with one iteration's numbers; the same object if no number changes."""
    if not varies(pass_):
        return pass_
    return with_numbers(pass_, lambda number: number_at(number, iteration))


def with_numbers(pass_: Pass, change: Callable[[Number], Number]) -> Pass:
    """The pass with change(number) in place of each number that a Repeat could change."""
    vector, corners = partial(_mapped, change), partial(_mapped_corners, change)
    match pass_:
        case FragmentPass():
            return replace(
                pass_,
                rect=_changed_rect(pass_.rect, change),
                texcoords=tuple(Texcoords(t.set, corners(t.corners)) for t in pass_.texcoords),
                locals=tuple(ParameterValue(p.index, vector(p.value)) for p in pass_.locals),
                env=tuple(ParameterValue(p.index, vector(p.value)) for p in pass_.env),
                attributes=tuple(
                    AttributeCorners(a.kind, corners(a.corners)) for a in pass_.attributes
                ),
                state=tuple(StateValue(s.binding, vector(s.value)) for s in pass_.state),
                scissor=pass_.scissor and _changed_rect(pass_.scissor, change),
            )
        case CopyPass():
            return replace(
                pass_,
                source_rect=_changed_rect(pass_.source_rect, change),
                target_rect=_changed_rect(pass_.target_rect, change),
            )
        case ClearPass():
            return replace(pass_, value=vector(pass_.value))
    groups_x, groups_y = (_whole(change(n)) for n in pass_.groups)
    uniforms = tuple(UniformValue(u.name, change(u.value)) for u in pass_.uniforms)
    return replace(pass_, uniforms=uniforms, groups=(groups_x, groups_y))


def _changed_rect(rect: Rect | MovingRect, change: Callable[[Number], Number]) -> Rect | MovingRect:
    x, y, width, height = (_whole(change(number)) for number in rect_numbers(rect))
    if any(isinstance(number, PerIteration) for number in (x, y, width, height)):
        return MovingRect(x, y, width, height)
    return Rect(x, y, width, height)  # type: ignore[arg-type]


def _whole(number: Number) -> Integer:
    """A whole number as an int; any other number as it is, for validation to refuse."""
    if isinstance(number, PerIteration) or type(number) is int or not float(number).is_integer():
        return number  # type: ignore[return-value]
    return int(number)


def varies(pass_: Pass) -> bool:
    """Whether any number of a pass changes from iteration to iteration."""
    return moves(pass_) or next(per_iteration_numbers(pass_), None) is not None


def per_iteration_numbers(pass_: Pass) -> Iterator[PerIteration]:
    """The numbers of a pass that change from iteration to iteration."""
    return (number for number in numbers(pass_) if isinstance(number, PerIteration))


def numbers(pass_: Pass) -> Iterator[Number]:
    """All numbers of a pass that a Repeat could change from iteration to iteration."""
    yield from integers(pass_)
    match pass_:
        case FragmentPass():
            corners = [t.corners for t in pass_.texcoords] + [a.corners for a in pass_.attributes]
            vectors = [p.value for p in pass_.locals + pass_.env] + [s.value for s in pass_.state]
            for vector in chain(*corners, vectors):
                yield from vector
        case ClearPass():
            yield from pass_.value
        case ComputePass():
            yield from (uniform.value for uniform in pass_.uniforms)


def integers(pass_: Pass) -> tuple[Number, ...]:
    """The numbers of a pass that count texels or work groups."""
    if isinstance(pass_, ComputePass):
        return pass_.groups
    return tuple(chain.from_iterable(map(rect_numbers, rects(pass_))))


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
    """Values that include the extremes over all iterations, for Affine those at its ends."""
    if isinstance(value, Affine):
        return map(value.at, (0, max(count - 1, 0)))
    return values_of(value, 1)


def areas_of(rect: Rect | MovingRect, count: int) -> Iterable[int]:
    """The areas of a rectangle, in texels, in the `count` iterations of a Repeat, in order."""
    if isinstance(rect, Rect):
        return repeat(rect.area, count)
    widths, heights = (map(int, values_of(side, count)) for side in (rect.width, rect.height))
    return map(mul, widths, heights)


def drawn_areas(pass_: FragmentPass, count: int) -> Iterable[tuple[int, int]]:
    """How often in the `count` iterations of a Repeat a pass draws how many fragments.

    In order; all at once if nothing moves, since the count may be larger than anybody could run.
    """
    if not moves(pass_):
        return [(count, pass_.drawn.area)]
    if pass_.scissor is None:
        return ((1, area) for area in areas_of(pass_.rect, count))
    every = (at_iteration(pass_, iteration) for iteration in range(count))
    return ((1, now.drawn.area) for now in every if isinstance(now, FragmentPass))


def total_area(rect: Rect | MovingRect, count: int) -> int:
    """The area of a rectangle summed over the `count` iterations of a Repeat, in texels."""
    return rect.area * count if isinstance(rect, Rect) else sum(areas_of(rect, count))


def rect_numbers(rect: Rect | MovingRect) -> tuple[Integer, Integer, Integer, Integer]:
    """The x, y, width and height of a rectangle."""
    return (rect.x, rect.y, rect.width, rect.height)


def corners_at(corners: Corners, iteration: int) -> Corners:
    """Corner values in the given iteration, counted from 0."""
    return _mapped_corners(lambda number: number_at(number, iteration), corners)


def _mapped_corners(change: Callable[[Number], Number], corners: Corners) -> Corners:
    a, b, c, d = (_mapped(change, corner) for corner in corners)
    return (a, b, c, d)


def _mapped(change: Callable[[Number], Number], values: NumberVec4) -> NumberVec4:
    x, y, z, w = map(change, values)
    return (x, y, z, w)
