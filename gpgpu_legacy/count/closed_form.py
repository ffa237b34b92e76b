"""Closed forms: formulas that are recovered from the counts of real plans, exactly.

A formula is a sum of terms c·xⁱ·(log₂ x)ʲ or, in several parameters, of products of such powers.
The solver finds rational coefficients, with the fewest terms that give all the counts. The formula
must then give the counts at other sizes. No formula is typed in, and none is a least-squares fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, islice, product, takewhile
from math import ceil, lcm, prod
from typing import Any

from gpgpu_legacy.count.traffic import ADDITIVE, Counts, count_plan
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.serial import Record

Power = tuple[int, int]
"""The exponents i and j of xⁱ·(log₂ x)ʲ."""

Point = tuple[int, ...]
"""A size for each parameter."""

Solution = Mapping[tuple[Power, ...], Fraction]
"""The coefficients of a formula's terms, each by the powers of all parameters."""

Vector = list[int]


# Solving ----------------------------------------------------------------------------------------


def fit(
    sizes: Sequence[int],
    values: Sequence[Fraction | int],
    powers: Sequence[Power],
    *,
    spare: int = 0,
) -> dict[Power, Fraction] | None:
    """The fewest of the terms whose sum gives the values at all the sizes; None if no sum does.

    sizes: of one parameter; powers of 2, if a term has a logarithm. spare: the least number of
    sizes beyond the number of terms.
    """
    rows: list[Vector] = []
    for size, value in zip(sizes, values, strict=True):
        row = [*(_term(size, power) for power in powers), Fraction(value)]
        denominator = lcm(*(number.denominator for number in row))
        rows.append([int(number * denominator) for number in row])
    *columns, target = (list(column) for column in zip(*rows, strict=True))
    for terms in range(min(len(powers), len(sizes) - spare) + 1):
        coefficients = _combine(list(zip(powers, columns, strict=True)), target, terms)
        if coefficients is not None:
            return {power: c for power, c in coefficients.items() if c}
    return None


def _combine(
    columns: Sequence[tuple[Power, Vector]], target: Vector, count: int
) -> dict[Power, Fraction] | None:
    """Coefficients, by the powers of their terms, with which `count` of the columns add up to the
    target.

    Each column that is tried is eliminated from those after it and from the target, in whole
    numbers: fractions would take ten times as long.
    """
    if count == 0:
        return None if any(target) else {}
    for place, (power, column) in enumerate(columns):
        pivot = next((row for row, value in enumerate(column) if value), None)
        if pivot is None:
            continue  # it depends linearly on the columns chosen before
        later = columns[place + 1 :] if count > 1 else ()
        rest = [(other, _eliminated(vector, column, pivot)) for other, vector in later]
        others = _combine(rest, _eliminated(target, column, pivot), count - 1)
        if others is not None:
            covered = sum(others.get(other, 0) * vector[pivot] for other, vector in later)
            return {power: Fraction(target[pivot] - covered) / column[pivot], **others}
    return None


def _eliminated(vector: Vector, column: Vector, pivot: int) -> Vector:
    """A multiple of the vector, minus the multiple of a column that makes it 0 at the pivot."""
    scale, factor = column[pivot], vector[pivot]
    return [scale * a - factor * b for a, b in zip(vector, column, strict=True)]


def fit_grid(
    axes: Sequence[Sequence[int]],
    values: Mapping[Point, Fraction | int],
    powers: Sequence[Sequence[Power]],
    *,
    spare: int = 0,
) -> Solution | None:
    """The formula in several parameters that gives the values at the points of a grid, or None.

    axes: the sizes of each parameter. values: at each point of their product. powers, spare: for
    each parameter as for `fit`. The formula in the first parameter is solved at all sizes of the
    others. Then its coefficients are solved as formulas in the others.
    """
    (first, *others), (mine, *theirs) = axes, powers
    fits: dict[Point, dict[Power, Fraction]] = {}
    for rest in product(*others):
        along = fit(first, [values[(n, *rest)] for n in first], mine, spare=spare)
        if along is None:
            return None
        fits[rest] = along
    solution: dict[tuple[Power, ...], Fraction] = {}
    for power in dict.fromkeys(power for along in fits.values() for power in along):
        coefficients = {rest: along.get(power, Fraction(0)) for rest, along in fits.items()}
        if not others:
            solution[power,] = coefficients[()]
            continue
        of_others = fit_grid(others, coefficients, theirs, spare=spare)
        if of_others is None:
            return None
        solution |= {(power, *rest): c for rest, c in of_others.items()}
    return solution


def value_at(solution: Solution, point: Point) -> Fraction:
    """The exact value of a formula."""
    return sum(
        (
            c * prod(_term(size, power) for size, power in zip(point, powers, strict=True))
            for powers, c in solution.items()
        ),
        Fraction(0),
    )


def _term(size: int, power: Power) -> Fraction:
    i, j = power
    if j and size.bit_count() != 1:
        raise ValueError(f"{size} is no power of 2")
    return Fraction(size) ** i * Fraction(size.bit_length() - 1) ** j


# Formulas as text and expressions ---------------------------------------------------------------


def formula_text(solution: Solution, names: Sequence[str]) -> str:
    """A formula in sympy's syntax, factored: `log(n, 2)*(log(n, 2) + 1)/2`."""
    return re.sub(rf"\b(\w+){_LOG2}\b", r"log(\1, 2)", str(_expression(solution, names)))


_LOG2 = "__log2"  # the ending of a symbol for a logarithm


def _expression(solution: Solution, names: Sequence[str]) -> Any:
    """A factored sympy expression, in which logarithms are symbols."""
    from sympy import Rational, Symbol, factor

    total = Rational(0)
    for powers, c in solution.items():
        term = Rational(c.numerator, c.denominator)
        for name, (i, j) in zip(names, powers, strict=True):
            term *= Symbol(name, positive=True) ** i
            term *= Symbol(f"{name}{_LOG2}", positive=True) ** j
        total += term
    return factor(total)


def same_formula(counted: Any, published: str) -> bool:
    """Whether a formula equals a published one for all n and b.

    counted: from `recover`, or like `published` in sympy's syntax; None equals no formula.
    """
    from sympy import simplify, symbols, sympify

    if counted is None:
        return False
    names = {name: symbols(name, positive=True) for name in ("n", "b")}
    ours, theirs = (sympify(formula, locals=names) for formula in (counted, published))
    return bool(simplify(ours - theirs) == 0)


def evaluate(formula: str, n: int, b: int) -> int:
    """The value of a formula in sympy's syntax at (n, b), rounded towards 0."""
    from sympy import sympify

    return int(sympify(formula, locals={"n": n, "b": b}))


# The papers' formulas in n and b ----------------------------------------------------------------

Quantity = Callable[[int, int], int | None]
"""A count as a function of matrix size n and block size b; None if it has no single value."""

_POWERS_OF_N = tuple((i, 0) for i in (0, 1, 2, 3))
_POWERS_OF_B = tuple((i, 0) for i in (-1, 0, 1))


# Sizes are multiples of 2b, which need no padding: the papers' formulas are for such sizes.
_AXES = ((12, 24, 36, 48), (1, 2, 3))
_HELD_OUT = ((40, 5), (80, 4), (64, 8), (56, 7), (20, 10), (96, 1))


def recover(quantity: Quantity) -> Any:
    """The sum of c·nⁱ·bʲ, i from 0 to 3 and j from -1 to 1, that equals a quantity.

    It is solved from as many n and b as it has powers of each, in all combinations, and checked at
    others. Returns a sympy expression in n and b; None if no such sum gives all the counts.
    """
    counts: dict[Point, int] = {}
    for point in product(*_AXES):
        if (count := quantity(*point)) is None:
            return None
        counts[point] = count
    solution = fit_grid(_AXES, counts, (_POWERS_OF_N, _POWERS_OF_B))
    if solution is None or any(value_at(solution, p) != quantity(*p) for p in _HELD_OUT):
        return None
    return _expression(solution, ("n", "b"))


# Families of plans -------------------------------------------------------------------------------
#
# Formulas for the counts of any family of plans, in one or several of its parameters.
#
# The plans are made and counted at several kinds of sizes: any sizes, even ones, multiples of
# larger numbers (for plans that pad), powers of two (where logarithms may appear), and sizes of
# which some divide another (for plans that cut it). A count's formula is for the first kind of
# sizes at which one formula gives all its values, including those at held-out sizes.


PlanOf = Callable[..., Plan]
"""A family of plans: a function of parameters, given as keywords."""

SPARE = 2
"""The least number of sizes, beyond its number of terms, from which a formula is solved."""

_WITHOUT_LOGARITHMS = tuple((i, 0) for i in (0, 1, 2, 3, -1))
_LOGARITHMS = tuple((i, j) for j in (1, 2, 3) for i in (0, 1, 2, 3))


class ClosedForm(Record):
    """The formula of a count.

    formula: in sympy's syntax; None if none was found. holds_for: the kind of sizes, in words; all
    counts at such sizes agree with the formula. It is empty without a formula. solved_at: the sizes
    of the parameters from which the formula was solved. checked_at: the other sizes at which it was
    checked.
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
    InputError or a PlanError. over: the parameters; the first of several is made larger than the
    others. at: the sizes of the user's plan, at which the formulas are checked too, if they hold
    for such sizes.

    Raises the function's last error if it refuses all sizes.
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
    if not any(counted.counts.values()):
        raise counted.refusal or InputError(f"the plan has no sizes {' and '.join(over)}")
    return {name: forms.get(name, ClosedForm()) for name in ADDITIVE}


@dataclass(eq=False)
class _Counted:
    """The counts of a family's plans, each built once; None where it refuses the sizes.

    refusal: the last one.
    """

    plan_of: PlanOf
    names: tuple[str, ...]
    counts: dict[Point, Counts | None] = field(default_factory=dict)
    refusal: InputError | PlanError | None = None

    def takes(self, point: Point) -> bool:
        """Whether there is a plan of these sizes."""
        if point not in self.counts:
            try:
                plan = self.plan_of(**dict(zip(self.names, point, strict=True)))
                self.counts[point] = count_plan(plan)
            except (InputError, PlanError) as refusal:
                self.counts[point], self.refusal = None, refusal
        return self.counts[point] is not None


# Where plans are counted ------------------------------------------------------------------------

LARGEST = 1 << 16
"""The largest size that is tried if a family refuses small ones."""


@frozen
class _Samples:
    """Points of a grid from which formulas are solved, and others at which they are checked.

    words: the kind of their sizes. has: tells whether a point is of that kind. powers: in the terms
    of a formula for such sizes.
    """

    words: str
    has: Callable[[Point], bool]
    powers: tuple[Power, ...]
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
        return filter(self.has, product(smaller, *others))


def _samples(counted: _Counted, at: Point | None) -> Iterator[_Samples]:
    """The samples that the family accepts completely, the most general ones first."""
    plan = _of_several(counted.names) if len(counted.names) > 1 else _of_one(counted, at)
    for samples in plan:
        held_out = samples.held_out
        if at is not None and samples.has(at) and at not in {*samples.points, *held_out}:
            held_out += (at,)
        if all(map(counted.takes, (*samples.points, *held_out))):
            yield replace(samples, held_out=held_out)


def _are_powers_of_2(point: Point) -> bool:
    return all(n.bit_count() == 1 for n in point)


def _of_one(counted: _Counted, at: Point | None) -> Iterator[_Samples]:
    [name] = counted.names
    for factor in (1, 2, 4, 8, 16, 32, 64):
        if factor < 4 or at is None or at[0] % factor == 0:
            yield _multiples(name, factor)
    for least in (2, 16, 1):
        powers = takewhile(lambda size: size <= LARGEST, (least << n for n in count()))
        sizes = tuple(islice((size for size in powers if counted.takes((size,))), 9))
        if len(sizes) > SPARE + 2:
            yield _Samples(
                *(f"{name} a power of 2", _are_powers_of_2, _WITHOUT_LOGARITHMS + _LOGARITHMS),
                *((sizes[:-2],), tuple((size,) for size in sizes[-2:])),
            )


def _multiples(name: str, factor: int) -> _Samples:
    """Seven small multiples and, far from them, two that are not multiples of a larger factor."""
    words = {1: f"any {name}", 2: f"even {name}"}.get(factor, f"{name} a multiple of {factor}")
    sizes = tuple(factor * n for n in range(6, 13))
    far = tuple((factor * n,) for n in ((61, 127) if factor < 8 else (17, 23)))
    return _Samples(words, lambda at: at[0] % factor == 0, _WITHOUT_LOGARITHMS, (sizes,), far)


def _of_several(names: tuple[str, ...]) -> Iterator[_Samples]:
    """Samples of several parameters, of which the first is the largest.

    In the last samples, the others divide it, as tiles do.
    """
    joined, (larger, *others) = " and ".join(names), names
    divisors = "divisors" if len(others) > 1 else "a divisor"
    for words, has, powers, first, other in (
        (
            f"any {joined}",
            lambda _: True,
            _WITHOUT_LOGARITHMS,
            (12, 13, 14, 15, 16, 61),
            (1, 2, 3, 4, 5, 7),
        ),
        (
            f"powers of 2 as {joined}",
            _are_powers_of_2,
            _WITHOUT_LOGARITHMS + _LOGARITHMS,
            (64, 128, 256, 512, 1024, 2048),
            (1, 2, 4, 8, 16, 32),
        ),
        (
            f"{larger} a multiple of 24, {' and '.join(others)} {divisors} of 12",
            lambda at: at[0] % 24 == 0 and all(12 % n == 0 for n in at[1:]),
            (*_WITHOUT_LOGARITHMS, (-2, 0)),  # an area over that of a tile
            (24, 48, 72, 96, 120),
            (2, 3, 4, 6, 12),
        ),
    ):
        sizes = [first, *[other] * len(others)]
        last, middle = (tuple(of_one[place] for of_one in sizes) for place in (-1, 2))
        mixed = ((*middle[:n], last[n], *middle[n + 1 :]) for n in range(len(names)))
        axes = tuple(of_one[:-1] for of_one in sizes)
        yield _Samples(words, has, powers, axes, (last, *mixed))


def _closed_form(counted: _Counted, name: str, samples: _Samples) -> ClosedForm | None:
    """The formula of a count that holds at these points; None if there is none."""

    def count_at(point: Point) -> int:
        return int(getattr(counted.counts[point], name))

    values = {point: count_at(point) for point in samples.points}
    powers = (samples.powers,) * len(counted.names)
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
        holds_for=samples.words + _least(counted.names, wrong, known),
        solved_at=samples.points,
        checked_at=samples.held_out,
    )


def _least(names: Sequence[str], wrong: Sequence[Point], known: Iterable[Point]) -> str:
    """The least first size at which a formula holds, in words, as a multiple of any others."""

    def ratio(point: Point) -> float:
        return point[0] / max(point[1:], default=1)

    if not wrong:
        return ""
    first, *others = names
    beyond = max(map(ratio, wrong))
    least = ceil(min(r for r in map(ratio, known) if r > beyond))
    times = f"{least}·" if least > 1 else ""
    return f", {first} at least {' and '.join(times + other for other in others) or least}"
