"""Whole numbers as linear forms of symbols with known ranges, and what bounds them.

A form is constant + Σ coefficient·symbol. A symbol is a number that stays what it is wherever it is
known: the work group, the invocation, the trip of a loop, or a number of which only the range is
known. Facts are forms that are at most 0, such as those of the conditions that lead to a program
point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

MOST_TERMS = 16
"""Symbols of a form that are kept apart; of a longer form only the range is known."""

MOST_FACTS = 16
"""The latest facts about a form's symbols that are tried on it."""

MOST_TRIALS = 20_000
"""Facts that are tried in one analysis, a tenth of a second; then only ranges of symbols count."""


@dataclass(frozen=True, slots=True)
class Form:
    """constant + Σ coefficient·symbol. terms: by the symbol's number, sorted, none of them 0."""

    constant: int
    terms: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: Form) -> Form:
        """The sum."""
        return self.plus(other, 1)

    def __sub__(self, other: Form) -> Form:
        """The difference."""
        return self.plus(other, -1)

    def plus(self, other: Form, factor: int) -> Form:
        """The sum of this form and another one times a factor."""
        terms = dict(self.terms)
        for symbol, coefficient in other.terms:
            terms[symbol] = terms.get(symbol, 0) + factor * coefficient
        left = tuple(sorted((s, c) for s, c in terms.items() if c))
        return Form(self.constant + factor * other.constant, left)

    def times(self, factor: int) -> Form:
        """The form times a number."""
        terms = tuple((s, factor * c) for s, c in self.terms) if factor else ()
        return Form(factor * self.constant, terms)

    def of(self, symbol: int) -> int:
        """The coefficient of a symbol."""
        return dict(self.terms).get(symbol, 0)


class Ranges:
    """The ranges of all symbols, and the facts that hold at the program point that is analysed."""

    def __init__(self) -> None:
        """Without symbols and facts."""
        self._ranges: list[tuple[int, int]] = []
        self._facts: list[Form] = []
        self._trials = MOST_TRIALS

    def symbol(self, low: int, high: int) -> Form:
        """A new symbol from low to high."""
        if low == high:
            return Form(low)
        self._ranges.append((low, high))
        return Form(0, ((len(self._ranges) - 1, 1),))

    @contextmanager
    def given(self, facts: Iterable[Form]) -> Iterator[None]:
        """While the block runs, these facts hold, and what is learnt there is forgotten after."""
        before = len(self._facts)
        self._facts.extend(facts)
        yield
        del self._facts[before:]

    def learn(self, *facts: Form) -> None:
        """More facts, up to the end of the block that is given some."""
        self._facts.extend(facts)

    def range(self, form: Form) -> tuple[int, int]:
        """The least and the largest value that the ranges of the symbols allow."""
        return form.constant + sum(c * self._ranges[s][c < 0] for s, c in form.terms), self._top(
            form
        )

    def most(self, form: Form) -> int:
        """What the form is at most, here."""
        return self._lowered(form, self._top(form), None)

    def is_at_most(self, form: Form, bound: int) -> bool:
        """Whether the form is at most that, here."""
        return self._lowered(form, self._top(form), bound) <= bound

    def is_within(self, form: Form, low: int, high: int) -> bool:
        """Whether the form is from low to high, here."""
        least, most = self.range(form)
        if low <= least and most <= high:
            return True
        return self.is_at_most(form, high) and self.is_at_most(form.times(-1), -low)

    def _top(self, form: Form) -> int:
        return form.constant + sum(c * self._ranges[s][c > 0] for s, c in form.terms)

    def _lowered(self, form: Form, top: int, enough: int | None) -> int:
        """The least upper bound that is found by taking away multiples of facts, one by one.

        As a fact is at most 0, the form is at most what is left when a multiple of it is taken
        away. Such multiples are tried that make a symbol disappear.
        """
        rest: tuple[Fraction, dict[int, Fraction]]
        rest = Fraction(form.constant), {s: Fraction(c) for s, c in form.terms}
        best = Fraction(top)
        while (enough is None or best > enough) and self._trials > 0:
            lower: tuple[Fraction, dict[int, Fraction]] | None = None
            for fact in self._about(rest[1]):
                for symbol, coefficient in fact.terms:
                    factor = rest[1].get(symbol, Fraction(0)) / coefficient
                    if factor <= 0:
                        continue
                    self._trials -= 1
                    tried = _less(rest, fact, factor)
                    bound = self._highest(tried)
                    if bound < best:
                        best, lower = bound, tried
            if lower is None:
                break
            rest = lower
        return best.numerator // best.denominator

    def _about(self, terms: dict[int, Fraction]) -> list[Form]:
        about: list[Form] = []
        for fact in reversed(self._facts):
            if any(symbol in terms for symbol, _ in fact.terms):
                about.append(fact)
                if len(about) == MOST_FACTS:
                    break
        return about

    def _highest(self, form: tuple[Fraction, dict[int, Fraction]]) -> Fraction:
        constant, terms = form
        return constant + sum(c * self._ranges[s][c > 0] for s, c in terms.items())


def _less(
    form: tuple[Fraction, dict[int, Fraction]], fact: Form, factor: Fraction
) -> tuple[Fraction, dict[int, Fraction]]:
    constant, terms = form
    left = dict(terms)
    for symbol, coefficient in fact.terms:
        value = left.get(symbol, Fraction(0)) - factor * coefficient
        if value:
            left[symbol] = value
        else:
            left.pop(symbol, None)
    return constant - factor * fact.constant, left
