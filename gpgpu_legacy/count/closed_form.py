"""Closed forms: formulas in n and b, recovered from the counts of real plans.

A quantity is counted at as many (n, b) as the formula has coefficients, and the coefficients are
solved for exactly, in rationals. The formula must then predict the counts at further (n, b) that
the solution did not use. No formula is typed in, and none is a least-squares fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

Quantity = Callable[[int, int], int | None]
"""A count as a function of matrix size n and block size b; None if it has no single value."""

POWERS_OF_N = (0, 1, 2, 3)
POWERS_OF_B = (-1, 0, 1)
TERMS = tuple(product(POWERS_OF_N, POWERS_OF_B))


@dataclass(frozen=True, slots=True)
class Samples:
    """The (n, b) at which a quantity is counted.

    sizes, blocks: the coefficients are solved for at every n of `sizes` with every b of `blocks`:
    as many n as there are powers of n, and as many b as powers of b. held_out: the (n, b) at which
    the solution is checked.
    """

    sizes: tuple[int, ...]
    blocks: tuple[int, ...]
    held_out: tuple[tuple[int, int], ...]


# Sizes are multiples of 2b, so that nothing is padded: the papers' formulas are for such sizes.
ANY_BLOCK = Samples(
    (12, 24, 36, 48), (1, 2, 3), ((40, 5), (80, 4), (64, 8), (56, 7), (20, 10), (96, 1))
)
"""For methods that support any block size."""

POWERS_OF_TWO = Samples(
    (32, 64, 96, 128), (1, 2, 4), ((160, 8), (192, 16), (256, 32), (32, 32), (224, 2), (288, 1))
)
"""For methods with blocks of 1, 2, 4, … 32. Work groups of 32×32 cover the sizes exactly."""


def recover(quantity: Quantity, samples: Samples = ANY_BLOCK) -> Any:
    """The sum of c·nⁱ·bʲ, i from 0 to 3 and j from -1 to 1, that equals a quantity.

    Returns a sympy expression in n and b. None if no such sum gives all the counts, including
    those held out.
    """
    points = tuple(product(samples.sizes, samples.blocks))
    counts = [quantity(n, b) for n, b in points]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    coefficients = _solve(points, known)
    for n, b in samples.held_out:
        value = sum(c * _term(n, b, t) for c, t in zip(coefficients, TERMS, strict=True))
        if value != quantity(n, b):
            return None
    return _expression(coefficients)


def _term(n: int, b: int, powers: tuple[int, int]) -> Fraction:
    i, j = powers
    return Fraction(n) ** i * Fraction(b) ** j


def _solve(points: tuple[tuple[int, int], ...], counts: list[int]) -> list[Fraction]:
    return [
        sum((c * count for c, count in zip(row, counts, strict=True)), Fraction(0))
        for row in _inverse(points)
    ]


@cache
def _inverse(points: tuple[tuple[int, int], ...]) -> tuple[tuple[Fraction, ...], ...]:
    """The matrix that takes counts at these points to coefficients: a row for each term."""
    from sympy import Matrix, Rational

    rows = [
        [Rational(v.numerator, v.denominator) for v in (_term(n, b, t) for t in TERMS)]
        for n, b in points
    ]
    inverse = Matrix(rows).inv().tolist()
    return tuple(tuple(Fraction(int(v.p), int(v.q)) for v in row) for row in inverse)


def _expression(coefficients: list[Fraction]) -> Any:
    from sympy import Rational, factor, symbols

    n, b = symbols("n b", positive=True)
    total = sum(
        Rational(c.numerator, c.denominator) * n**i * b**j
        for (i, j), c in zip(TERMS, coefficients, strict=True)
    )
    return factor(total)


def same_formula(counted: Any, published: str) -> bool:
    """Whether a recovered expression equals a published formula for all n and b.

    counted: from `recover`; None equals no formula. published: in sympy's syntax.
    """
    from sympy import simplify, symbols, sympify

    if counted is None:
        return False
    n, b = symbols("n b", positive=True)
    return bool(simplify(counted - sympify(published, locals={"n": n, "b": b})) == 0)


def evaluate(formula: str, n: int, b: int) -> Fraction:
    """The exact value of a formula in sympy's syntax at (n, b)."""
    from sympy import Rational, sympify

    value = Rational(sympify(formula, locals={"n": n, "b": b}))
    return Fraction(int(value.p), int(value.q))
