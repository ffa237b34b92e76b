"""A kernel's integers as linear forms, and what is known about them at a program point.

A form is constant + Σ coefficient·symbol. A symbol is an integer that has a known range: the work
group, the invocation, the trip of a loop, or an unknown number. Facts are forms that are at most 0,
such as the conditions that lead to a program point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.types import Operator

MOST_TRIALS = 100_000
"""The most facts tried in one analysis, in a tenth of a second; then only symbols' ranges count."""


@frozen
class LinearForm:
    """constant + Σ coefficient·symbol.

    terms: pairs of a symbol's number and its coefficient, sorted; no coefficient is 0.
    """

    constant: int
    terms: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: LinearForm) -> LinearForm:
        """The sum."""
        terms = dict(self.terms)
        for symbol, coefficient in other.terms:
            terms[symbol] = terms.get(symbol, 0) + coefficient
        left = tuple(sorted((s, c) for s, c in terms.items() if c))
        return LinearForm(self.constant + other.constant, left)

    def __sub__(self, other: LinearForm) -> LinearForm:
        """The difference."""
        return self + -other

    def __neg__(self) -> LinearForm:
        """The form with the opposite sign."""
        return self * -1

    def __mul__(self, factor: int) -> LinearForm:
        """The form times a number."""
        terms = tuple((s, factor * c) for s, c in self.terms) if factor else ()
        return LinearForm(factor * self.constant, terms)

    def of(self, symbol: int) -> int:
        """The coefficient of a symbol."""
        return dict(self.terms).get(symbol, 0)


class Facts(NamedTuple):
    """The facts that hold if a condition is true, and those if it is false."""

    true: tuple[LinearForm, ...] = ()
    false: tuple[LinearForm, ...] = ()


class SymbolRanges:
    """The ranges of all symbols, and the facts that hold at the current program point."""

    def __init__(self) -> None:
        """Begin without symbols and facts."""
        self._ranges: list[tuple[int, int]] = []
        self.facts: list[LinearForm] = []
        self._trials = MOST_TRIALS

    def symbol(self, low: int, high: int) -> LinearForm:
        """A new symbol from low to high."""
        if low == high:
            return LinearForm(low)
        self._ranges.append((low, high))
        return LinearForm(0, ((len(self._ranges) - 1, 1),))

    @contextmanager
    def given(self, facts: Iterable[LinearForm]) -> Iterator[None]:
        """While the block runs, these facts hold; facts learnt in it are dropped afterwards."""
        before = len(self.facts)
        self.facts += facts
        yield
        del self.facts[before:]

    def range(self, form: LinearForm) -> tuple[int, int]:
        """The least and the largest value that the ranges of the symbols allow."""
        return -self._top(-form), self._top(form)

    def bounds(self, form: LinearForm) -> tuple[int, int]:
        """The least and the largest value that the ranges and the tried facts allow."""
        return -self.most(-form), self.most(form)

    def is_within(self, form: LinearForm, low: int, high: int) -> bool:
        """Whether the form is proven to be from low to high."""
        return self.most(form, high) <= high and self.most(-form, -low) <= -low

    def most(self, form: LinearForm, enough: int | None = None) -> int:
        """An upper bound of the form: the least that is found, or one that is at most `enough`.

        Multiples of facts are subtracted, each of which cancels a symbol. As a fact is at most 0,
        the form is at most the rest: `rest` divided by `scale`.
        """
        rest, scale, best = form, 1, self._top(form)
        lower: tuple[LinearForm, int] | None = (rest, scale)
        while lower is not None and self._trials > 0 and (enough is None or best > enough):
            (rest, scale), lower = lower, None
            self._trials -= len(self.facts)
            for fact in reversed(self.facts):
                for symbol, coefficient in fact.terms:
                    own, size = rest.of(symbol), abs(coefficient)
                    if own * coefficient > 0:
                        left = rest * size - fact * abs(own)
                        bound = self._top(left) // (scale * size)
                        if bound < best:
                            best, lower = bound, (left, scale * size)
        return best

    def _top(self, form: LinearForm) -> int:
        return form.constant + sum(c * self._ranges[s][c > 0] for s, c in form.terms)


def comparison(operator: Operator, left: LinearForm, right: LinearForm) -> Facts:
    """The facts of a comparison of two numbers; none for other operators."""
    less, more, one = left - right, right - left, LinearForm(1)
    facts = {
        Operator.LESS: Facts((less + one,), (more,)),
        Operator.LESS_EQUAL: Facts((less,), (more + one,)),
        Operator.GREATER: Facts((more + one,), (less,)),
        Operator.GREATER_EQUAL: Facts((more,), (less + one,)),
        Operator.EQUAL: Facts((less, more), ()),
        Operator.NOT_EQUAL: Facts((), (less, more)),
    }
    return facts.get(operator, Facts())
