"""Recorded loops, and the Repeats that they become.

A builder records passes, swaps of two textures, and loops of these. `steps_of` turns the record
into the steps of a Plan. A loop becomes one Repeat if possible. Its body is unrolled until all
swapped textures are back in their places, and inner loops of few iterations are unrolled into it.
A loop whose body is a single inner loop becomes one Repeat over all inner iterations. All other
loops are written out, one iteration after another.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import copysign, isnan
from typing import Any, NoReturn

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.expand import at_iteration, with_numbers, with_rounds, with_textures
from gpgpu_legacy.plan.numbers import Affine, Number, PerIteration, Table
from gpgpu_legacy.plan.plan import (
    CopyPass,
    Pass,
    Repeat,
    Round,
    Step,
    Until,
    moves,
    numbers,
)
from gpgpu_legacy.plan.textures import Texture, level_rect

# Expressions -------------------------------------------------------------------------------------


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

    affine: gives base, step and Repeat of a result base + step·i, and None for any other result.
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
    """Base, step and Repeat of an affine value, else None; a plain number has a step of 0."""
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
    __sub__, __rsub__ = _methods(operator.sub, lambda a, b: _sum(a, -b))
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

    __hash__ = object.__hash__

    def _refuse(self) -> NoReturn:
        raise InputError(
            "the iteration of a repeat has no single value while a plan is built; compute with it, "
            "give a list with a value for each iteration, or write a Python loop"
        )

    __bool__ = __index__ = __int__ = __float__ = _refuse


# Loops -------------------------------------------------------------------------------------------


LONGEST_BODY = 64
"""The most passes that unrolling an inner loop may put into the body of a Repeat."""

MOST_ITERATIONS = 250_000
"""The most iterations of a nested loop in total, since each is computed by itself."""

MOST_ROUNDS = 4096
"""The most rounds of a loop with a condition whose passes use its iteration: each is kept."""

LARGEST_COUNT = 2**31 - 1
"""The most iterations of a repeat: more than any machine runs, and the most of a counter in C."""


@frozen
class Swap:
    """An exchange of two textures: from here on, each name means the other's texels."""

    first: str
    second: str


@frozen
class LoopCondition:
    """A condition that ends a loop: the texel of `texture` is below a number.

    every: the texel is read before each iteration whose number this divides.
    """

    texture: str
    below: float
    every: int


@dataclass(slots=True, eq=False)
class RecordedLoop:
    """A loop as it was recorded.

    number: identifies the loop in expressions. count: the number of its iterations, or one for each
    entry; the loop is entered once in every iteration of its parent. question: a condition that may
    end it earlier. items: its body.

    Passes of a loop without a parent have the numbers of a Repeat over all of its iterations. In
    nested loops, they have expressions.
    """

    number: int
    parent: RecordedLoop | None
    count: int | tuple[int, ...]
    question: LoopCondition | None = None
    items: list[Item] = field(default_factory=list)
    _starts: tuple[int, ...] = ()
    _values: dict[LoopExpression, tuple[Scalar, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.count, tuple):
            self._starts = (0, *accumulate(self.count))
        if self.parent is not None and self.parent.question is None:
            self._require_few()

    def _require_few(self) -> None:
        if self.total > MOST_ITERATIONS:
            raise InputError(
                f"a repeat in a repeat has {self.total} iterations in all; at most "
                f"{MOST_ITERATIONS} are computed"
            )

    @property
    def index(self) -> LoopExpression:
        """The iteration as an expression."""
        return LoopExpression(operator.itemgetter(self.number), (0, 1, self.number))

    @property
    def total(self) -> int:
        """Iterations of all entries together."""
        if isinstance(self.count, tuple):
            return self._starts[-1]
        return self.count * (1 if self.parent is None else self.parent.total)

    def start(self, entry: int) -> int:
        """The number of iterations in all entries before the given one."""
        return self._starts[entry] if isinstance(self.count, tuple) else self.count * entry

    def iteration(self, indices: Indices) -> int:
        """The current iteration, counted over all entries."""
        entry = 0 if self.parent is None else self.parent.iteration(indices)
        return self.start(entry) + indices[self.number]

    def each_indices(self) -> Iterator[Indices]:
        """The iterations of this loop and its parents, for each iteration of this loop."""
        entries: Iterable[Indices] = ({},) if self.parent is None else self.parent.each_indices()
        for entry, outer in enumerate(entries):
            for index in range(self.start(entry + 1) - self.start(entry)):
                yield {**outer, self.number: index}

    def values(self, number: LoopExpression) -> tuple[Scalar, ...]:
        """The values of an expression in all iterations; computed once."""
        if number not in self._values:
            self._require_few()
            self._values[number] = tuple(number.at(indices) for indices in self.each_indices())
        return self._values[number]


Item = Pass | Swap | RecordedLoop


def items_of(loop: RecordedLoop) -> Iterator[tuple[RecordedLoop, Item]]:
    """The items of a loop and of the loops in it, each with its own loop."""
    for item in loop.items:
        yield loop, item
        if isinstance(item, RecordedLoop):
            yield from items_of(item)


def is_until(item: Item | Step) -> bool:
    """Whether an item is a loop with a condition, or contains one."""
    if isinstance(item, RecordedLoop):
        return item.question is not None or any(is_until(inner) for _, inner in items_of(item))
    return isinstance(item, Until)


# Numbers ----------------------------------------------------------------------------------------


def resolved(pass_: Pass, loop: RecordedLoop | None, iterations: range) -> Pass:
    """A pass of a Repeat over some iterations of a loop, with plain numbers, Affines and Tables.

    loop: None for a pass outside all loops. iterations: counted over all entries of the loop.
    """
    if loop is None and not moves(pass_) and set(map(type, numbers(pass_))) <= {int, float}:
        return pass_
    return with_numbers(pass_, lambda number: number_over(number, loop, iterations))


def number_over(number: Any, loop: RecordedLoop | None, iterations: range) -> Number:
    """A number of a Repeat over some iterations of a loop."""
    match number:
        case LoopExpression():
            if number.affine and loop and not loop.parent and number.affine[2] == loop.number:
                base, step, _ = number.affine
                return Affine(base + step * iterations.start, step * iterations.step)
            return _simplified(values_over(number, loop, iterations))
        case Affine(base, step) if is_exact(base, step):
            return Affine(base + step * iterations.start, step * iterations.step)
        case Affine() | Table():
            return _simplified(tuple(map(number.at, iterations)))
    return number  # type: ignore[no-any-return]


def values_over(
    number: LoopExpression, loop: RecordedLoop | None, iterations: range
) -> tuple[Scalar, ...]:
    """The values of an expression in some iterations of a loop; InputError if it has none."""
    try:
        if loop is None:
            raise KeyError
        return loop.values(number)[iterations.start : iterations.stop : iterations.step]
    except KeyError:
        raise InputError("an iteration is used after its repeat; use it inside") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise InputError(f"an expression of an iteration has no value: {error}") from None


def _simplified(values: tuple[Scalar, ...]) -> Number:
    """A constant, an Affine or, if neither gives exactly these values, a Table."""
    if all(_same(value, values[0]) for value in values):
        return values[0]
    base, step = values[0], values[1] - values[0]
    if all(_same(base + step * i, value) for i, value in enumerate(values)):
        return Affine(base, step)
    return Table(values)


def _same(a: Scalar, b: Scalar) -> bool:
    if isnan(a) or isnan(b):
        return isnan(a) and isnan(b)
    return a == b and copysign(1.0, a) == copysign(1.0, b)


# Steps ------------------------------------------------------------------------------------------


class Places(dict[str, str]):
    """The texture that each name means after the swaps so far; other names mean their own.

    textures: by name, with the spare ones that are added to put swapped textures back.
    """

    def __init__(self, textures: Mapping[str, Texture]) -> None:
        super().__init__()
        self.textures = dict(textures)
        self._spares: dict[tuple[Any, ...], str] = {}

    def of(self, name: str) -> str:
        """The texture that a name means."""
        return self.get(name, name)

    def moved(self, start: Places) -> list[str]:
        """The names that mean other textures than at the start."""
        return [name for name in self if self.of(name) != start.of(name)]

    def restore(self, start: Places) -> tuple[CopyPass, ...]:
        """The copies after which each name may again mean its texture at the start."""
        copies: list[CopyPass] = []
        left = {start.of(name): self.of(name) for name in self.moved(start)}
        while left:  # a cycle of textures, each of which holds another's texels
            target, source = left.popitem()
            spare = self._spare(target)
            copies += self._copies(target, spare)
            while source in left:
                copies += self._copies(source, target)
                target, source = source, left.pop(source)
            copies += self._copies(spare, target)
        return tuple(copies)

    def _spare(self, name: str) -> str:
        like = self.textures[name]
        kind = (like.kind, like.extent, like.format)
        if kind not in self._spares:
            names = (f"spare{n}" for n in itertools.count(1))
            self._spares[kind] = spare = next(n for n in names if n not in self.textures)
            self.textures[spare] = replace(like, name=spare, initial=None)
        return self._spares[kind]

    def _copies(self, source: str, target: str) -> Iterator[CopyPass]:
        texture = self.textures[target]
        for rect in (level_rect(texture, level) for level in range(texture.extent.levels)):
            yield CopyPass(source, rect, target, rect)


def steps_of(items: Iterable[Item | Step], places: Places) -> list[Step]:
    """The steps of a plan from recorded items.

    items: those outside loops have plain numbers already. places: changed by the swaps.
    """
    steps: list[Step] = []
    for item in items:
        match item:
            case Swap():
                _swap(places, item)
            case RecordedLoop():
                steps += _loop_steps(item, 0, places)
            case _:
                steps.append(_renamed(item, places))
    return steps


def _renamed(step: Step, places: Places) -> Step:
    """A step of a finished plan, with the textures that its names mean."""

    def renamed(steps: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(_renamed(step, places) for step in steps)

    match step:
        case Repeat():
            return Repeat(step.count, renamed(step.body))
        case Until():
            return with_rounds(
                step,
                lambda r: Round(
                    places.of(r.condition), r.iterations, renamed(r.body), renamed(r.restore)
                ),
            )
    return with_textures(step, places)


def _loop_steps(loop: RecordedLoop, entry: int, places: Places) -> list[Step]:
    iterations = range(loop.start(entry), loop.start(entry + 1) if loop.parent else loop.total)
    if loop.question:
        return [_until(loop, loop.question, iterations, places)]
    while (
        len(loop.items) == 1
        and isinstance(inner := loop.items[0], RecordedLoop)
        and not inner.question
    ):
        loop, iterations = inner, range(inner.start(iterations.start), inner.start(iterations.stop))
    return _steps_over(loop, iterations, places)


def _steps_over(loop: RecordedLoop, iterations: range, places: Places) -> list[Step]:
    body = _unrolled(loop, iterations)
    if body is not None:
        return _repeats(body, len(iterations), places)
    return [step for iteration in iterations for step in _written_out(loop, iteration, places)]


def _until(loop: RecordedLoop, question: LoopCondition, iterations: range, places: Places) -> Until:
    """The Until of a loop with a condition.

    It has rounds until every name means its first texture again, or all rounds if a number depends
    on the iteration.
    """
    every, start = question.every, copy(places)
    count, uses_iteration = len(iterations) // every, _uses_iteration(loop)
    rounds: list[Round] = []
    meant: list[Places] = []  # what names mean at the start of each round

    def add(number: int, length: int, to: list[Round]) -> None:
        condition, restore = places.of(question.texture), places.restore(start)
        part = iterations[number * every : number * every + length]
        body = tuple(_steps_over(loop, part, places)) if length else restore
        to.append(Round(condition, length, body, restore))

    while len(rounds) < count and not (rounds and not uses_iteration and not places.moved(start)):
        if len(rounds) == MOST_ROUNDS:
            raise InputError(
                f"a repeat with a condition uses its iteration in {count} rounds; at most "
                f"{MOST_ROUNDS} are kept: raise every, or count in a texture"
            )
        meant.append(copy(places))
        add(len(rounds), every, rounds)
    if rounds and count % len(rounds):  # the last round is not the last of a cycle
        places.update(meant[count % len(rounds)])
    end: list[Round] = []
    add(count, len(iterations) % every, end)
    if end[0].iterations:
        add(count, 0, end)
    places.update({name: start.of(name) for name in places})
    if not rounds:
        rounds = [Round(places.of(question.texture), every)]
    return Until(question.below, count, tuple(rounds), tuple(end))


def _uses_iteration(loop: RecordedLoop) -> bool:
    """Whether a number in a loop, or in the loops in it, depends on the loop's iteration."""
    return any(
        isinstance(item.count, tuple)
        if isinstance(item, RecordedLoop)
        else not isinstance(item, Swap) and any(_asks(loop, number) for number in numbers(item))
        for _, item in items_of(loop)
    )


def _asks(loop: RecordedLoop, number: Any) -> bool:
    """Whether a number depends on the iteration of a loop."""
    if not isinstance(number, LoopExpression):
        return isinstance(number, PerIteration)
    asked = defaultdict[int, int](int)
    with suppress(ArithmeticError, TypeError, ValueError):
        number.at(asked)
        return loop.number in asked
    return True


def _written_out(loop: RecordedLoop, iteration: int, places: Places) -> Iterator[Step]:
    """The steps of one iteration."""
    for item in loop.items:
        match item:
            case Swap():
                _swap(places, item)
            case RecordedLoop():
                yield from _loop_steps(item, iteration, places)
            case _:
                alone = resolved(item, loop, range(iteration, iteration + 1))
                yield with_textures(at_iteration(alone, 0), places)


@frozen
class _InBody:
    """A pass of a Repeat's body. iterations: its loop's, one for each iteration of the Repeat."""

    pass_: Pass
    loop: RecordedLoop
    iterations: range


def _unrolled(loop: RecordedLoop, iterations: range) -> list[_InBody | Swap] | None:
    """The body with inner loops unrolled; None if it is too long or its length changes."""
    body: list[_InBody | Swap] = []
    for item in loop.items:
        match item:
            case Swap():
                body.append(item)
            case RecordedLoop(count=int(count), question=None):
                if len(body) + count * len(item.items) > LONGEST_BODY:
                    return None
                for inner in range(count):
                    first, step = iterations.start * count + inner, iterations.step * count
                    part = _unrolled(item, range(first, first + step * len(iterations), step))
                    if part is None:
                        return None
                    body += part
            case RecordedLoop():
                return None
            case _:
                body.append(_InBody(item, loop, iterations))
    return body


def _repeats(body: list[_InBody | Swap], count: int, places: Places) -> list[Step]:
    """A Repeat of the body, unrolled until swapped textures are back, and the passes left over."""
    period = _period(body)
    whole, rest = divmod(count, period)
    steps: list[Step] = []
    if whole:
        parts = [slice(first, whole * period, period) for first in range(period)]
        steps.append(Repeat(whole, tuple(p for part in parts for p in _over(body, part, places))))
    for last in range(count - rest, count):
        alone = _over(body, slice(last, last + 1), places)
        steps += [at_iteration(pass_, 0) for pass_ in alone]
    return steps


def _over(body: Iterable[_InBody | Swap], part: slice, places: dict[str, str]) -> Iterator[Pass]:
    """The passes of a Repeat over a part of the body's iterations; swaps rename their textures."""
    for item in body:
        if isinstance(item, Swap):
            _swap(places, item)
            continue
        loop, iterations = item.loop, item.iterations[part]
        is_all = loop.parent is None and iterations == range(loop.total)
        pass_ = item.pass_ if is_all else resolved(item.pass_, loop, iterations)
        yield with_textures(pass_, places)


def _period(body: Iterable[_InBody | Swap]) -> int:
    """The number of iterations after which all swapped textures are in their places again."""
    swaps = [item for item in body if isinstance(item, Swap)]
    start = {name: name for swap in swaps for name in (swap.first, swap.second)}
    places, period = dict(start), 0
    while period == 0 or places != start:
        for swap in swaps:
            _swap(places, swap)
        period += 1
    return period


def _swap(places: dict[str, str], swap: Swap) -> None:
    first, second = (places.get(name, name) for name in (swap.first, swap.second))
    places[swap.first], places[swap.second] = second, first
