"""Formulas for the counts of any family of plans, in one or several of its parameters.

The plans are made and counted at several sizes: at any sizes, at even ones, at powers of two, where
logarithms may appear, at multiples of larger numbers, for plans that pad, and where some sizes
divide another, for plans that cut it. A count's formula is for the first kind of sizes at which one
formula gives all its values, including the values at held-out sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice, product, takewhile
from math import ceil

from gpgpu_legacy.count.closed_form import Point, Power, fit_grid, formula_text, value_at
from gpgpu_legacy.count.traffic import ADDITIVE, Counts, count_plan
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.serial import Record

PlanOf = Callable[..., Plan]
"""A family of plans: a function of parameters, given as keywords."""

SPARE = 2
"""The least number of sizes that a formula is solved at beyond its number of terms."""

_WITHOUT_LOGARITHMS = tuple((i, 0) for i in (0, 1, 2, 3, -1))
_LOGARITHMS = tuple((i, j) for j in (1, 2, 3) for i in (0, 1, 2, 3))


class ClosedForm(Record):
    """The formula of a count.

    formula: in sympy's syntax; None if none was found. holds_for: the sizes, in words, empty
    without a formula; all that were counted among them agree. solved_at, checked_at: the sizes of
    the parameters at which the formula was solved for, and the other sizes at which it was checked.
    """

    formula: str | None = None
    holds_for: str = ""
    solved_at: tuple[Point, ...] = ()
    checked_at: tuple[Point, ...] = ()


def formulas(
    plan_of: PlanOf, over: tuple[str, ...] = ("n",), *, at: Point | None = None
) -> dict[str, ClosedForm]:
    """Recover a formula for each count of a family of plans, by the name of the count.

    plan_of: called with a keyword for each of `over`, a positive integer. It may refuse sizes by an
    InputError or a PlanError. over: of several parameters, the first is made larger than the
    others. at: the sizes of the user's plan, at which the formulas are checked too, if they hold
    for such sizes.

    Raises InputError where the function refuses all sizes.
    """
    counted = _Counted(plan_of, over)
    forms: dict[str, ClosedForm] = {}
    for samples in _samples(counted, at):
        for name in ADDITIVE:
            closed_form = None if name in forms else _closed_form(counted, name, samples)
            if closed_form is not None:
                forms[name] = closed_form
        if len(forms) == len(ADDITIVE):
            break
    if not counted.counts:
        raise counted.refusal or InputError(f"the plan has no sizes {' and '.join(over)}")
    return {name: forms.get(name, ClosedForm()) for name in ADDITIVE}


class _Counted:
    """The counts of a family's plans, each built once. refusal: of the size refused last."""

    def __init__(self, plan_of: PlanOf, names: tuple[str, ...]) -> None:
        self.names = names
        self.counts: dict[Point, Counts] = {}
        self.refusal: InputError | PlanError | None = None
        self._plan_of = plan_of
        self._refused: set[Point] = set()

    def takes(self, point: Point) -> bool:
        """Whether there is a plan of these sizes."""
        if point not in self.counts and point not in self._refused:
            try:
                plan = self._plan_of(**dict(zip(self.names, point, strict=True)))
                self.counts[point] = count_plan(plan)
            except (InputError, PlanError) as refusal:
                self._refused.add(point)
                self.refusal = refusal
        return point in self.counts


# Where plans are counted ------------------------------------------------------------------------

LARGEST = 1 << 16
"""The largest size that is tried if a family refuses small ones."""


@frozen
class _Kind:
    """A kind of size: the multiples of a factor or, if that is 0, the powers of 2.

    divided: if it is not 0, only the first size is such a multiple, and the others divide it.
    """

    factor: int
    divided: int = 0

    @property
    def powers(self) -> tuple[Power, ...]:
        """The powers in the terms of a formula for such sizes."""
        if self.divided:
            return (*_WITHOUT_LOGARITHMS, (-2, 0))  # tiles: whole area over a tile's
        return _WITHOUT_LOGARITHMS + (() if self.factor else _LOGARITHMS)

    def has(self, point: Point) -> bool:
        """Whether all sizes of a point are of this kind."""
        if self.divided:
            first, *others = point
            return first % self.factor == 0 and all(self.divided % n == 0 for n in others)
        return all(n % self.factor == 0 if self.factor else n.bit_count() == 1 for n in point)

    def words(self, names: Sequence[str]) -> str:
        """The sizes that a formula holds for."""
        if self.divided:
            first, *others = names
            divisors = "divisors" if len(others) > 1 else "a divisor"
            return (
                f"{first} a multiple of {self.factor}, {' and '.join(others)} {divisors} of "
                f"{self.divided}"
            )
        joined = " and ".join(names)
        if self.factor in (1, 2):
            return f"{'any' if self.factor == 1 else 'even'} {joined}"
        if len(names) > 1:
            return f"powers of 2 as {joined}"
        return f"{joined} a multiple of {self.factor}" if self.factor else f"{joined} a power of 2"


@frozen
class _Samples:
    """Points of a grid at which formulas are solved for, and others at which they are checked."""

    kind: _Kind
    axes: tuple[tuple[int, ...], ...]
    held_out: tuple[Point, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of the grid."""
        return tuple(product(*self.axes))

    @property
    def near(self) -> Iterator[Point]:
        """Points of its kind with a smaller first size, at which a formula may not hold."""
        first, *others = self.axes
        smaller = others[0] if others else range(1, first[0])
        return filter(self.kind.has, product(smaller, *others))


def _samples(counted: _Counted, at: Point | None) -> Iterator[_Samples]:
    """The samples that the family accepts completely, the most general ones first."""
    several = len(counted.names) > 1
    for planned in _of_several(len(counted.names)) if several else _of_one(counted, at):
        samples, points = planned, {*planned.points, *planned.held_out}
        if at is not None and planned.kind.has(at) and at not in points:
            samples = replace(planned, held_out=(*planned.held_out, at))
        if all(map(counted.takes, (*samples.points, *samples.held_out))):
            yield samples


def _of_one(counted: _Counted, at: Point | None) -> Iterator[_Samples]:
    yield _multiples(1)
    yield _multiples(2)
    for factor in (4, 8, 16, 32, 64):
        if at is None or _Kind(factor).has(at):
            yield _multiples(factor)
    for least in (2, 16, 1):
        yield from _powers_of_two(counted, least)


def _multiples(factor: int) -> _Samples:
    """Seven small multiples and, far from them, two that are not multiples of a larger factor."""
    sizes = tuple(factor * n for n in range(6, 13))
    far = (61, 127) if factor < 8 else (17, 23)
    return _Samples(_Kind(factor), (sizes,), tuple((factor * n,) for n in far))


def _powers_of_two(counted: _Counted, least: int) -> Iterator[_Samples]:
    """The first powers of 2 that the family takes, up to nine of them."""
    powers = takewhile(lambda size: size <= LARGEST, (least << n for n in count()))
    sizes = tuple(islice((size for size in powers if counted.takes((size,))), 9))
    if len(sizes) > SPARE + 2:
        yield _Samples(_Kind(0), (sizes[:-2],), tuple((size,) for size in sizes[-2:]))


def _of_several(number: int) -> Iterator[_Samples]:
    """The first parameter is larger than the others."""
    for kind, first, other in (
        (_Kind(1), (12, 13, 14, 15, 16, 61), (1, 2, 3, 4, 5, 7)),
        (_Kind(0), (64, 128, 256, 512, 1024, 2048), (1, 2, 4, 8, 16, 32)),
        (_Kind(24, 12), (24, 48, 72, 96, 120), (2, 3, 4, 6, 12)),
    ):
        sizes = [first, *[other] * (number - 1)]
        last, middle = (tuple(of_one[place] for of_one in sizes) for place in (-1, 2))
        mixed = ((*middle[:n], last[n], *middle[n + 1 :]) for n in range(number))
        yield _Samples(kind, tuple(of_one[:-1] for of_one in sizes), (last, *mixed))


def _closed_form(counted: _Counted, name: str, samples: _Samples) -> ClosedForm | None:
    """The formula of a count that holds at these points; None if there is none."""

    def count_at(point: Point) -> int:
        return int(getattr(counted.counts[point], name))

    values = {point: count_at(point) for point in samples.points}
    powers = (samples.kind.powers,) * len(counted.names)
    solution = fit_grid(samples.axes, values, powers, spare=SPARE)
    if solution is None:
        return None
    if any(value_at(solution, point) != count_at(point) for point in samples.held_out):
        return None
    near = [*filter(counted.takes, samples.near)]
    wrong = [point for point in near if value_at(solution, point) != count_at(point)]
    known = {*near, *samples.points, *samples.held_out}.difference(wrong)
    return ClosedForm(
        formula=formula_text(solution, counted.names),
        holds_for=samples.kind.words(counted.names) + _least(counted.names, wrong, known),
        solved_at=samples.points,
        checked_at=samples.held_out,
    )


def _least(names: Sequence[str], wrong: Sequence[Point], known: Iterable[Point]) -> str:
    """The least first size, in words: next to the others, above those at which a formula fails."""

    def ratio(point: Point) -> float:
        return point[0] / max(point[1:], default=1)

    if not wrong:
        return ""
    first, *others = names
    beyond = max(map(ratio, wrong))
    least = ceil(min(r for r in map(ratio, known) if r > beyond))
    times = f"{least}·" if least > 1 else ""
    return f", {first} at least {' and '.join(times + other for other in others) or least}"
