"""Closed forms: formulas that are recovered from the counts of real plans, exactly.

A formula is a sum of terms c·xⁱ·(log₂ x)ʲ or, in several parameters, of products of such powers.
The solver finds rational coefficients, with the fewest terms that give all the counts. The formula
must then give the counts at other sizes. No formula is typed in, and none is a least-squares fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Any

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
    rows = [
        _whole([*(_term(size, power) for power in powers), Fraction(value)])
        for size, value in zip(sizes, values, strict=True)
    ]
    *columns, target = (list(column) for column in zip(*rows, strict=True))
    for count in range(min(len(powers), len(sizes) - spare) + 1):
        coefficients = _combine(list(enumerate(columns)), target, count)
        if coefficients is not None:
            return {powers[n]: c for n, c in coefficients.items() if c}
    return None


def _whole(row: Sequence[Fraction]) -> Vector:
    """A row times its common denominator."""
    denominator = lcm(*(value.denominator for value in row))
    return [int(value * denominator) for value in row]


def _combine(
    columns: Sequence[tuple[int, Vector]], target: Vector, count: int
) -> dict[int, Fraction] | None:
    """Coefficients, by column number, with which `count` of the columns add up to the target.

    Each column that is tried is eliminated from those after it and from the target, in whole
    numbers: fractions would take ten times as long.
    """
    if count == 0:
        return None if any(target) else {}
    for place, (number, column) in enumerate(columns):
        pivot = next((row for row, value in enumerate(column) if value), None)
        if pivot is None:
            continue  # it depends linearly on the columns chosen before
        later = columns[place + 1 :] if count > 1 else ()
        rest = [(n, _eliminated(other, column, pivot)) for n, other in later]
        others = _combine(rest, _eliminated(target, column, pivot), count - 1)
        if others is not None:
            covered = sum(others[n] * other[pivot] for n, other in later if n in others)
            return {number: Fraction(target[pivot] - covered) / column[pivot], **others}
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
    each parameter as for `fit`. The solver solves for the first parameter at all sizes of the
    others, and then for its coefficients in the others.
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
    return Fraction(size) ** i * (_log2(size) ** j if j else 1)


def _log2(size: int) -> int:
    if size.bit_count() != 1:
        raise ValueError(f"{size} is no power of 2")
    return size.bit_length() - 1


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


def evaluate(formula: str, n: int, b: int) -> Fraction:
    """The exact value of a formula in sympy's syntax at (n, b)."""
    from sympy import Rational, sympify

    value = Rational(sympify(formula, locals={"n": n, "b": b}))
    return Fraction(int(value.p), int(value.q))


# The papers' formulas in n and b ----------------------------------------------------------------

Quantity = Callable[[int, int], int | None]
"""A count as a function of matrix size n and block size b; None if it has no single value."""

_POWERS_OF_N = tuple((i, 0) for i in (0, 1, 2, 3))
_POWERS_OF_B = tuple((i, 0) for i in (-1, 0, 1))


# Sizes are multiples of 2b, which need no padding: the papers' formulas are for such sizes.
_AXES = ((12, 24, 36, 48), (1, 2, 3))
_HELD_OUT = ((40, 5), (80, 4), (64, 8), (56, 7), (20, 10), (96, 1))


def recover(
    quantity: Quantity,
    axes: tuple[tuple[int, ...], tuple[int, ...]] = _AXES,
    held_out: tuple[Point, ...] = _HELD_OUT,
) -> Any:
    """The sum of c·nⁱ·bʲ, i from 0 to 3 and j from -1 to 1, that equals a quantity.

    axes: the n and b that are solved at, in all combinations, as many of each as it has powers.
    held_out: the (n, b) at which the solution is checked. Returns a sympy expression in n and b;
    None if no such sum gives all the counts.
    """
    counts: dict[Point, int] = {}
    for point in product(*axes):
        count = quantity(*point)
        if count is None:
            return None
        counts[point] = count
    solution = fit_grid(axes, counts, (_POWERS_OF_N, _POWERS_OF_B))
    if solution is None or any(value_at(solution, p) != quantity(*p) for p in held_out):
        return None
    return _expression(solution, ("n", "b"))
