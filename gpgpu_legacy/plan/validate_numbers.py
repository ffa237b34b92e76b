"""Validation of the numbers in passes: whole where they must be, and one for every iteration."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from gpgpu_legacy.plan.expand import extremes_of, integers, numbers, rect_numbers
from gpgpu_legacy.plan.numbers import LARGEST_INTEGER, Affine, Number, PerIteration, Table
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, FragmentPass, Pass
from gpgpu_legacy.plan.textures import MovingRect, Rect

_PLAIN = {int, float}
"""Types of numbers that need no closer look; a bool has a type of its own."""


def number_problem(pass_: Pass, count: int) -> str | None:
    """What is wrong with the numbers of a pass that runs `count` times; None if all are valid."""
    return next(_problems(pass_, count), None)


def pass_in_words(pass_: Pass) -> str:
    """What messages call a pass."""
    match pass_:
        case FragmentPass():
            return f"the pass to {', '.join(pass_.targets) or 'no target'}"
        case CopyPass():
            return f"the copy of {pass_.source} to {pass_.target}"
        case ClearPass():
            return f"the clear of {pass_.target}"
    return f"the dispatch of {pass_.kernel.name}"


def _problems(pass_: Pass, count: int) -> Iterator[str]:
    what = pass_in_words(pass_)
    if isinstance(pass_, ComputePass):
        yield from _uniforms(pass_, count)
    elif not set(map(type, numbers(pass_))) <= _PLAIN:
        for number in numbers(pass_):
            if type(number) not in _PLAIN:
                yield from _number(number, count, what)
    for rect in _rects(pass_):
        moving = any(isinstance(number, PerIteration) for number in rect_numbers(rect))
        if isinstance(rect, Rect) and moving:
            yield (
                f"{what} has a Rect whose numbers change from iteration to iteration; give a "
                "MovingRect"
            )
    for size in integers(pass_):
        yield from _integral(size, f"a number of texels or work groups of {what}")


def _uniforms(pass_: ComputePass, count: int) -> Iterator[str]:
    from gpgpu_legacy.kernel.ir import RANGES, Type

    types = {uniform.name: uniform.type for uniform in pass_.kernel.uniforms}
    for uniform in pass_.uniforms:
        kind, what = types.get(uniform.name), f"uniform {uniform.name} of {pass_in_words(pass_)}"
        if kind is not Type.BOOL:
            yield from _number(uniform.value, count, what)
        elif isinstance(uniform.value, Table):
            yield from _length(uniform.value.values, count, what)
        if kind is not None and kind.is_integer:
            yield from _integral(uniform.value, what)
            place = f"{what}, of type {kind.value},"
            yield from _in_range(uniform.value, count, RANGES[kind], place)


def _in_range(number: Number, count: int, bounds: tuple[int, int], what: str) -> Iterator[str]:
    low, high = bounds
    for value in extremes_of(number, count):
        if not low <= value <= high:
            yield f"{what} is {value:.10g}; it must be from {low} to {high}"


def _number(number: Number, count: int, what: str) -> Iterator[str]:
    match number:
        case Table(values=values):
            yield from _length(values, count, what)
        case Affine(base=base, step=step):
            if not (isfinite(base) and isfinite(step)):
                yield f"{what} has {number}, which is not finite; give finite numbers"


def _length(values: tuple[float, ...], count: int, what: str) -> Iterator[str]:
    if len(values) != count:
        yield (
            f"{what} has a Table of {len(values)} values in a Repeat of {count} iterations; give "
            "one value per iteration"
        )


def _integral(number: Number, what: str) -> Iterator[str]:
    """Whole floats count as integers, since Tables of coordinates hold floats."""
    match number:
        case Table(values=values):
            odd = () if set(map(type, values)) == {int} else values
        case Affine(base=base, step=step):
            odd = (base, step)
        case _:
            odd = (number,)
    for value in odd:
        if not _is_integral(value):
            yield f"{what} is {value!r}; give integers of at most {LARGEST_INTEGER}"


def _is_integral(value: float) -> bool:
    return abs(value) <= LARGEST_INTEGER and value == int(value)


def _rects(pass_: Pass) -> tuple[Rect | MovingRect, ...]:
    match pass_:
        case FragmentPass():
            return (pass_.rect,)
        case CopyPass():
            return pass_.source_rect, pass_.target_rect
    return ()
