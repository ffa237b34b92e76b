"""Numbers that depend on the iteration of a Repeat, as arithmetic on the iteration's number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from gpgpu_legacy.errors import InputError

Scalar = int | float
Indices = Mapping[int, int]
"""The iteration, from 0, of each Repeat that is open, by the Repeat's number."""

_EXACT = 2**20


class Expression:
    """A number that a `with p.repeat(k) as i` block computes from i, in every iteration anew.

    `+ - * / // % **`, shifts and comparisons (1 or 0) take other expressions and plain numbers;
    `map` takes a function. There is no single value while the plan is built, so an expression
    cannot be an index or decide an `if`.
    """

    __slots__ = ("affine", "at")

    def __init__(
        self, at: Callable[[Indices], Scalar], affine: tuple[Scalar, Scalar, int] | None = None
    ) -> None:
        """at: the value in an iteration. affine: base, step and Repeat if that is base + step·i."""
        self.at, self.affine = at, affine

    def map(self, function: Callable[[Any], Scalar]) -> Expression:
        """function(value), called once for each iteration, as in `i.map(math.cos)`."""
        return Expression(lambda indices: function(self.at(indices)))

    def __add__(self, other: Any) -> Expression:
        """The sum."""
        return _combined(operator.add, self, other, _sum)

    def __radd__(self, other: Any) -> Expression:
        """The sum."""
        return _combined(operator.add, other, self, _sum)

    def __sub__(self, other: Any) -> Expression:
        """The difference."""
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Expression:
        """The difference."""
        return (-self).__add__(other)

    def __neg__(self) -> Expression:
        """The negative."""
        return self * -1

    def __mul__(self, other: Any) -> Expression:
        """The product."""
        return _combined(operator.mul, self, other, _scaled)

    def __rmul__(self, other: Any) -> Expression:
        """The product."""
        return _combined(operator.mul, other, self, _scaled)

    def __truediv__(self, other: Any) -> Expression:
        """The quotient."""
        return _combined(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        """The quotient."""
        return _combined(operator.truediv, other, self)

    def __floordiv__(self, other: Any) -> Expression:
        """The quotient, rounded down."""
        return _combined(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Expression:
        """The quotient, rounded down."""
        return _combined(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Expression:
        """The remainder."""
        return _combined(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Expression:
        """The remainder."""
        return _combined(operator.mod, other, self)

    def __pow__(self, other: Any) -> Expression:
        """The power."""
        return _combined(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Expression:
        """The power, as in `2 ** i`."""
        return _combined(operator.pow, other, self)

    def __lshift__(self, other: Any) -> Expression:
        """The number shifted left."""
        return _combined(operator.lshift, self, other)

    def __rlshift__(self, other: Any) -> Expression:
        """The number shifted left, as in `1 << i`."""
        return _combined(operator.lshift, other, self)

    def __rshift__(self, other: Any) -> Expression:
        """The number shifted right."""
        return _combined(operator.rshift, self, other)

    def __rrshift__(self, other: Any) -> Expression:
        """The number shifted right, as in `n >> i`."""
        return _combined(operator.rshift, other, self)

    def __and__(self, other: Any) -> Expression:
        """The bits that both have."""
        return _combined(operator.and_, self, other)

    def __lt__(self, other: Any) -> Expression:
        """1 where it is less, else 0."""
        return _combined(_as_number(operator.lt), self, other)

    def __le__(self, other: Any) -> Expression:
        """1 where it is at most the other, else 0."""
        return _combined(_as_number(operator.le), self, other)

    def __gt__(self, other: Any) -> Expression:
        """1 where it is greater, else 0."""
        return _combined(_as_number(operator.gt), self, other)

    def __ge__(self, other: Any) -> Expression:
        """1 where it is at least the other, else 0."""
        return _combined(_as_number(operator.ge), self, other)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        """1 where both are equal, else 0."""
        return _combined(_as_number(operator.eq), self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        """1 where both differ, else 0."""
        return _combined(_as_number(operator.ne), self, other)

    __hash__ = object.__hash__

    def _refuse(self) -> NoReturn:
        raise InputError(
            "the iteration of a repeat has no single value while a plan is built; compute with it, "
            "give a list with a value for each iteration, or write a Python loop"
        )

    __bool__ = __index__ = __int__ = __float__ = _refuse


def iteration_of(number: int) -> Expression:
    """The iteration, from 0, of the Repeat with that number."""
    return Expression(operator.itemgetter(number), (0, 1, number))


def value_at(value: Scalar | Expression, indices: Indices) -> Scalar:
    """The value of a number or an expression."""
    return value.at(indices) if isinstance(value, Expression) else value


_Affine = tuple[Scalar, Scalar, int]


def _combined(
    function: Callable[[Any, Any], Scalar],
    a: Any,
    b: Any,
    affine: Callable[[Any, Any], _Affine | None] = lambda _a, _b: None,
) -> Expression:
    for operand in (a, b):
        if not isinstance(operand, Expression) and not hasattr(operand, "__float__"):
            raise InputError(
                f"an iteration is combined with {operand!r}; give a number or another expression"
            )

    def at(indices: Indices) -> Scalar:
        return function(value_at(a, indices), value_at(b, indices))

    form = affine(a, b)
    return Expression(at, form if form is not None and is_exact(*form[:2]) else None)


def _form(value: Any) -> tuple[Scalar, Scalar, int | None] | None:
    """Base, step and Repeat; a plain number has a step of 0."""
    return value.affine if isinstance(value, Expression) else (value, 0, None)


def _sum(a: Any, b: Any) -> _Affine | None:
    one, other = _form(a), _form(b)
    if one is None or other is None:
        return None
    repeats = {one[2], other[2]} - {None}
    repeat = repeats.pop()
    return None if repeats or repeat is None else (one[0] + other[0], one[1] + other[1], repeat)


def _scaled(a: Any, b: Any) -> _Affine | None:
    form, factor = (a.affine, b) if isinstance(a, Expression) else (b.affine, a)
    if form is None or isinstance(factor, Expression):
        return None
    base, step, repeat = form
    return base * factor, step * factor, repeat


def is_exact(base: Scalar, step: Scalar) -> bool:
    """Whether base + step·i is computed without rounding, so that the order does not matter."""
    return all(abs(x) < _EXACT and float(x * _EXACT).is_integer() for x in (base, step))


def _as_number(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], int]:
    return lambda a, b: int(compare(a, b))
