"""A kernel's integers as linear forms, and the accesses that they prove inside.

A form is constant + Σ coefficient·symbol. A symbol is a number that does not change where it is
known: the work group, the invocation, the trip of a loop, or a number with a known range. Facts are
forms that are at most 0, such as the conditions that lead to a program point. `Integers` is the
state at one program point: the values of the kernel's variables, and the facts there. bounds.py
walks the statements and keeps it up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import (
    BuiltIn,
    Choice,
    Constant,
    Element,
    Expression,
    Invocation,
    Operation,
    Read,
    Role,
)
from gpgpu_legacy.isa.kernel import RANGES, Kernel
from gpgpu_legacy.isa.types import BOOL, UINT, Operator, Type

MOST_TERMS = 16
"""Symbols of a form that are kept apart; for a longer form only the range is kept."""

MOST_TRIALS = 100_000
"""Facts that are looked at in one analysis, a tenth of a second; then only ranges of symbols count.
"""


@frozen
class LinearForm:
    """constant + Σ coefficient·symbol. terms: by the symbol's number, sorted, none of them 0."""

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
        return self + other.times(-1)

    def times(self, factor: int) -> LinearForm:
        """The form times a number."""
        terms = tuple((s, factor * c) for s, c in self.terms) if factor else ()
        return LinearForm(factor * self.constant, terms)

    def of(self, symbol: int) -> int:
        """The coefficient of a symbol."""
        return dict(self.terms).get(symbol, 0)


class SymbolRanges:
    """The ranges of all symbols, and the facts that hold at the program point that is analysed."""

    def __init__(self) -> None:
        """Without symbols and facts."""
        self._ranges: list[tuple[int, int]] = []
        self._facts: list[LinearForm] = []
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
        before = len(self._facts)
        self._facts.extend(facts)
        yield
        del self._facts[before:]

    def learn(self, *facts: LinearForm) -> None:
        """More facts, up to the end of the block that is given some."""
        self._facts.extend(facts)

    def range(self, form: LinearForm) -> tuple[int, int]:
        """The least and the largest value that the ranges of the symbols allow."""
        return -self._top(form.times(-1)), self._top(form)

    def most(self, form: LinearForm, enough: int | None = None) -> int:
        """What the form is at most, here: the least bound that is found, or one that is enough.

        Multiples of facts are taken away that make a symbol disappear, one by one. As a fact is at
        most 0, the form is at most what is left. That is `rest`, divided by `scale`.
        """
        rest, scale, best = form, 1, self._top(form)
        lower: tuple[LinearForm, int] | None = (rest, scale)
        while lower is not None and self._trials > 0 and (enough is None or best > enough):
            (rest, scale), lower = lower, None
            self._trials -= len(self._facts)
            for fact in reversed(self._facts):
                for symbol, coefficient in fact.terms:
                    own, size = rest.of(symbol), abs(coefficient)
                    if own * coefficient > 0:
                        left = rest.times(size) - fact.times(abs(own))
                        bound = self._top(left) // (scale * size)
                        if bound < best:
                            best, lower = bound, (left, scale * size)
        return best

    def is_at_most(self, form: LinearForm, bound: int) -> bool:
        """Whether the form is at most that, here."""
        return self.most(form, bound) <= bound

    def is_within(self, form: LinearForm, low: int, high: int) -> bool:
        """Whether the form is from low to high, here."""
        return self.is_at_most(form, high) and self.is_at_most(form.times(-1), -low)

    def _top(self, form: LinearForm) -> int:
        return form.constant + sum(c * self._ranges[s][c > 0] for s, c in form.terms)


MOST_ELEMENTS = 2**31 - 2**24
"""Up to here an index may be proven: native code then computes it as an int plus a distance in its
row, which must not wrap around. Beyond, in buffers of 8 GB, each access is checked."""

_WRAP = 2**32


@frozen
class DispatchNumbers:
    """The numbers of a dispatch. uniforms: name, first value and step from run to run."""

    groups: tuple[int, int]
    uniforms: tuple[tuple[str, int, int], ...]
    lengths: tuple[tuple[str, int], ...]
    iterations: int


class Facts(NamedTuple):
    """The facts if a condition is true, and if it is false."""

    true: tuple[LinearForm, ...] = ()
    false: tuple[LinearForm, ...] = ()


_UNKNOWN = Facts()
_NEVER = Facts((LinearForm(1),), ())  # of the literal false; 1 is never at most 0


class Integers:
    """The facts about a kernel's integers at one program point, for any invocation.

    unproven: the numbers of the accesses so far that may be outside their arrays.
    """

    def __init__(self, kernel: Kernel, dispatch: DispatchNumbers) -> None:
        """At the beginning of the kernel, where no variable is known."""
        self.kernel, self.ranges = kernel, SymbolRanges()
        self.lengths = dict(dispatch.lengths)
        self.unproven: set[int] = set()
        self.numbers: dict[str, LinearForm] = {}  # of the private integers that are known here
        self.kinds: dict[str, Type] = {}
        self.exactly = False  # integers are taken not to wrap around; see `trips`
        iteration = self.ranges.symbol(0, max(dispatch.iterations - 1, 0))
        self.uniforms = {
            name: LinearForm(base) + iteration.times(step) for name, base, step in dispatch.uniforms
        }
        self.group = tuple(self.ranges.symbol(0, max(n - 1, 0)) for n in dispatch.groups)
        self.local = tuple(self.ranges.symbol(0, n - 1) for n in kernel.local_size)
        self.quotients: dict[tuple[LinearForm, int], LinearForm] = {}

    def visit(self, expression: Expression) -> None:
        """Look at the accesses of any expression."""
        if expression.type.is_integer:
            self.number(expression)
        elif expression.type == BOOL:
            self.condition(expression)
        else:
            self.parts(expression)

    def parts(self, expression: Expression) -> None:
        """Look at the accesses in the parts of an expression."""
        match expression:
            case Element():
                self.access(expression)
            case Choice():
                self.choose(expression)
            case _:
                for part in expression.operands:
                    self.visit(part)

    def choose(self, expression: Choice) -> LinearForm | None:
        """A number, or none, that is one of two."""
        condition, *sides = expression.operands
        choices: list[tuple[tuple[LinearForm, ...], LinearForm]] = []
        for holds, side in zip(self.condition(condition), sides, strict=True):
            with self.ranges.given(holds):
                if side.type.is_integer:
                    choices.append((holds, self.number(side)))
                else:
                    self.visit(side)
        return self.either(choices) if choices else None

    def access(self, element: Element) -> None:
        """Record an access that is not proven to be inside its array."""
        indices = [self.number(index) for index in element.operands]
        extents = element.array.extents or (self.lengths.get(element.array.name, 0),)
        flat, length = LinearForm(0), 1
        for index, extent in zip(indices, extents, strict=True):
            flat = flat.times(extent) + index
            length *= extent
        are_small = all(self.ranges.is_within(index, 0, MOST_ELEMENTS - 1) for index in indices)
        if not are_small or not self.ranges.is_within(flat, 0, length - 1):
            self.unproven.add(element.number)

    def condition(self, expression: Expression) -> Facts:
        """The facts of a bool if it is true, and if it is false."""
        match expression:
            case Constant(values=(value,)):
                return _UNKNOWN if value else _NEVER
            case Operation(operator=Operator.NOT, operands=(operand,)):
                return Facts(*reversed(self.condition(operand)))
            case Choice(operands=(left, right, Constant(values=(False,)))):
                first = self.condition(left)
                with self.ranges.given(first.true):
                    second = self.condition(right)
                return Facts(first.true + second.true, ())
            case Choice(operands=(left, Constant(values=(True,)), right)):
                first = self.condition(left)
                with self.ranges.given(first.false):
                    second = self.condition(right)
                return Facts((), first.false + second.false)
            case Operation(operator=operator, operands=(left, right)) if left.type.is_integer:
                return _comparison(operator, self.number(left), self.number(right))
        self.parts(expression)
        return _UNKNOWN

    def number(self, expression: Expression) -> LinearForm:  # noqa: PLR0911 - a case each
        """An integer as a form of the symbols."""
        kind = expression.type
        match expression:
            case Constant(values=(value,)):
                return self.fitted(LinearForm(int(value)), kind)
            case Read(variable=variable) if variable.role is not Role.UNIFORM:
                return self.numbers[variable.name]
            case Read(variable=variable):
                return self.uniforms.get(variable.name) or self.anything(kind)
            case Invocation():
                return self.identity(expression)
            case Operation(operator=Operator.CONVERT, operands=(operand,)):
                if operand.type.is_integer:
                    return self.fitted(self.number(operand), kind)
                self.visit(operand)
                return self.ranges.symbol(0, 1) if operand.type == BOOL else self.anything(kind)
            case Operation(operator=Operator.NEGATE, operands=(operand,)):
                return self.fitted(self.number(operand).times(-1), kind)
            case Operation(operator=operator, operands=(left, right)):
                return self.computed(operator, self.number(left), self.number(right), kind)
            case Choice():
                return self.choose(expression) or self.anything(kind)
        self.parts(expression)
        return self.anything(kind)

    def computed(  # noqa: PLR0911 - a case each
        self, operator: Operator, left: LinearForm, right: LinearForm, kind: Type
    ) -> LinearForm:
        """The result of an operator for two numbers."""
        match operator:
            case Operator.ADD:
                return self.fitted(left + right, kind)
            case Operator.SUBTRACT:
                return self.fitted(left - right, kind)
            case Operator.MULTIPLY if not left.terms:
                return self.fitted(right.times(left.constant), kind)
            case Operator.MULTIPLY if not right.terms:
                return self.fitted(left.times(right.constant), kind)
            case Operator.MULTIPLY:
                corners = [a * b for a in self.ranges.range(left) for b in self.ranges.range(right)]
                return self.fitted(self.ranges.symbol(min(corners), max(corners)), kind)
            case Operator.DIVIDE | Operator.REMAINDER if not right.terms and right.constant > 0:
                if self.ranges.is_at_most(left.times(-1), 0):
                    quotient = self.quotient(left, right.constant)
                    if operator is Operator.DIVIDE:
                        return quotient
                    return left - quotient.times(right.constant)
                if operator is Operator.REMAINDER:
                    return self.ranges.symbol(1 - right.constant, right.constant - 1)
        return self.anything(kind)

    def quotient(self, left: LinearForm, divisor: int) -> LinearForm:
        """A symbol for the quotient of a number that is at least 0."""
        if (left, divisor) not in self.quotients:
            low, high = self.ranges.range(left)
            symbol = self.ranges.symbol(max(low, 0) // divisor, high // divisor)
            self.quotients[left, divisor] = symbol
        quotient = self.quotients[left, divisor]
        rest = left - quotient.times(divisor)
        self.ranges.learn(rest.times(-1), rest - LinearForm(divisor - 1))
        return quotient

    def identity(self, expression: Invocation) -> LinearForm:
        """An invocation's or a work group's number along an axis."""
        axis = expression.axis
        if axis == 2:
            return LinearForm(0)
        group, local = self.group[axis], self.local[axis]
        if expression.built_in is BuiltIn.WORK_GROUP_ID:
            return group
        if expression.built_in is BuiltIn.LOCAL_INVOCATION_ID:
            return local
        return self.fitted(group.times(self.kernel.local_size[axis]) + local, UINT)

    def fitted(self, form: LinearForm, kind: Type) -> LinearForm:
        """The form as a 32-bit number, which may have wrapped around."""
        if self.exactly:
            return form
        if len(form.terms) > MOST_TERMS:
            form = self.ranges.symbol(*self.ranges.range(form))
        low, high = RANGES[kind.kind]
        least, most = self.ranges.range(form)
        if least < low or most > high:
            most = self.ranges.most(form)
            least = -self.ranges.most(form.times(-1))
        window = (least - low) // _WRAP
        if (most - low) // _WRAP == window:
            return form - LinearForm(window * _WRAP) if window else form
        return self.anything(kind)

    def anything(self, kind: Type) -> LinearForm:
        """Any number of a type."""
        return self.ranges.symbol(*RANGES[kind.kind])

    def either(self, choices: Iterable[tuple[tuple[LinearForm, ...], LinearForm]]) -> LinearForm:
        """A number that is one of these forms, each under its facts."""
        ends: list[int] = []
        for holds, form in choices:
            with self.ranges.given(holds):
                ends += -self.ranges.most(form.times(-1)), self.ranges.most(form)
        return self.ranges.symbol(min(ends), max(ends))


def _comparison(operator: Operator, left: LinearForm, right: LinearForm) -> Facts:
    less, more, one = left - right, right - left, LinearForm(1)
    facts = {
        Operator.LESS: Facts((less + one,), (more,)),
        Operator.LESS_EQUAL: Facts((less,), (more + one,)),
        Operator.GREATER: Facts((more + one,), (less,)),
        Operator.GREATER_EQUAL: Facts((more,), (less + one,)),
        Operator.EQUAL: Facts((less, more), ()),
        Operator.NOT_EQUAL: Facts((), (less, more)),
    }
    return facts.get(operator, _UNKNOWN)
