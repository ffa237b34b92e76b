"""Numbers that depend on the iteration of a Repeat, as arithmetic on the iteration's number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from gpgpu_legacy.errors import InputError

Scalar = int | float
Indices = Mapping[int, int]
"""The iteration, from 0, of each open Repeat, by the Repeat's number."""

_EXACT = 2**20


def value_at(value: Scalar | LoopExpression, indices: Indices) -> Scalar:
    """The value of a number or an expression."""
    return value.at(indices) if isinstance(value, LoopExpression) else value


_Affine = tuple[Scalar, Scalar, int]


_Method = Callable[[Any, Any], "LoopExpression"]


def _methods(
    function: Callable[[Any, Any], Scalar],
    affine: Callable[[Any, Any], _Affine | None] = lambda _a, _b: None,
) -> tuple[_Method, _Method]:
    """The two methods of an operator: for the expression as its left and as its right operand.

    affine: base, step and Repeat of the result, if that is base + step·i.
    """

    def left(self: Any, other: Any) -> LoopExpression:
        return _combined(function, self, other, affine)

    def right(self: Any, other: Any) -> LoopExpression:
        return _combined(function, other, self, affine)

    return left, right


def _combined(
    function: Callable[[Any, Any], Scalar],
    a: Any,
    b: Any,
    affine: Callable[[Any, Any], _Affine | None],
) -> LoopExpression:
    for operand in (a, b):
        if not isinstance(operand, LoopExpression) and not hasattr(operand, "__float__"):
            raise InputError(
                f"an iteration is combined with {operand!r}; give a number or another expression"
            )

    def at(indices: Indices) -> Scalar:
        return function(value_at(a, indices), value_at(b, indices))

    form = affine(a, b)
    return LoopExpression(at, form if form is not None and is_exact(*form[:2]) else None)


def _form(value: Any) -> tuple[Scalar, Scalar, int | None] | None:
    """Base, step and Repeat; a plain number has a step of 0."""
    return value.affine if isinstance(value, LoopExpression) else (value, 0, None)


def _sum(a: Any, b: Any) -> _Affine | None:
    one, other = _form(a), _form(b)
    if one is None or other is None:
        return None
    repeats = {one[2], other[2]} - {None}
    repeat = repeats.pop()
    return None if repeats or repeat is None else (one[0] + other[0], one[1] + other[1], repeat)


def _scaled(a: Any, b: Any) -> _Affine | None:
    form, factor = (a.affine, b) if isinstance(a, LoopExpression) else (b.affine, a)
    if form is None or isinstance(factor, LoopExpression):
        return None
    base, step, repeat = form
    return base * factor, step * factor, repeat


def is_exact(base: Scalar, step: Scalar) -> bool:
    """Whether base + step·i is exact in any order of operations."""
    return all(abs(x) < _EXACT and float(x * _EXACT).is_integer() for x in (base, step))


class LoopExpression:
    """A number that a `with p.repeat(k) as i` block computes from i in every iteration.

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

    def map(self, function: Callable[[Any], Scalar]) -> LoopExpression:
        """function(value), called once for each iteration, as in `i.map(math.cos)`."""
        return LoopExpression(lambda indices: function(self.at(indices)))

    __add__, __radd__ = _methods(operator.add, _sum)
    __mul__, __rmul__ = _methods(operator.mul, _scaled)
    __truediv__, __rtruediv__ = _methods(operator.truediv)
    __floordiv__, __rfloordiv__ = _methods(operator.floordiv)
    __mod__, __rmod__ = _methods(operator.mod)
    __pow__, __rpow__ = _methods(operator.pow)
    __lshift__, __rlshift__ = _methods(operator.lshift)
    __rshift__, __rrshift__ = _methods(operator.rshift)
    __and__, __rand__ = _methods(operator.and_)
    __lt__, __gt__ = _methods(lambda a, b: int(a < b))
    __le__, __ge__ = _methods(lambda a, b: int(a <= b))
    __eq__ = _methods(lambda a, b: int(a == b))[0]  # type: ignore[assignment]
    __ne__ = _methods(lambda a, b: int(a != b))[0]  # type: ignore[assignment]

    def __neg__(self) -> LoopExpression:
        """The negative."""
        return _combined(operator.mul, self, -1, _scaled)

    def __sub__(self, other: Any) -> LoopExpression:
        """The difference."""
        return _combined(operator.add, self, -other, _sum)

    def __rsub__(self, other: Any) -> LoopExpression:
        """The difference."""
        return _combined(operator.add, -self, other, _sum)

    __hash__ = object.__hash__

    def _refuse(self) -> NoReturn:
        raise InputError(
            "the iteration of a repeat has no single value while a plan is built; compute with it, "
            "give a list with a value for each iteration, or write a Python loop"
        )

    __bool__ = __index__ = __int__ = __float__ = _refuse


def iteration_of(number: int) -> LoopExpression:
    """The iteration, from 0, of the Repeat with that number."""
    return LoopExpression(operator.itemgetter(number), (0, 1, number))
