"""Validation of the numbers in passes: integers where needed, and a value for every iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from math import isfinite

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.expand import extremes_of
from gpgpu_legacy.plan.numbers import LARGEST_INTEGER, Affine, Number, PerIteration, Table
from gpgpu_legacy.plan.plan import (
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    integers,
    numbers,
    rects,
)
from gpgpu_legacy.plan.textures import Rect, rect_numbers

_PLAIN = {int, float}
"""Types of numbers that are valid as they are; bool is not among them."""


def pass_in_words(pass_: Pass) -> str:
    """The name of a pass in messages."""
    match pass_:
        case FragmentPass():
            return f"the pass to {', '.join(pass_.targets) or 'no target'}"
        case CopyPass():
            return f"the copy of {pass_.source} to {pass_.target}"
        case ClearPass():
            return f"the clear of {pass_.target}"
    return f"the dispatch of {pass_.kernel.name}"


def problems(pass_: Pass, count: int) -> Iterator[str]:
    """The problems with the numbers and values of a pass that runs `count` times."""
    what = pass_in_words(pass_)
    if isinstance(pass_, ComputePass):
        yield from _uniforms(pass_, count)
    elif not set(map(type, numbers(pass_))) <= _PLAIN:
        for number in numbers(pass_):
            yield from _number(number, count, what)
    for rect in rects(pass_):
        moving = any(isinstance(number, PerIteration) for number in rect_numbers(rect))
        if isinstance(rect, Rect) and moving:
            yield (
                f"{what} has a Rect whose numbers change from iteration to iteration; give a "
                "MovingRect"
            )
    for size in integers(pass_):
        yield from _integral(size, f"a number of texels or work groups of {what}")
    if isinstance(pass_, FragmentPass):
        yield from _of_draw(pass_)
    elif isinstance(pass_, ComputePass):
        name = pass_.kernel.name
        yield from _once(f"binding of {name}: ", [buffer.binding for buffer in pass_.buffers])
        yield from _once(f"uniform of {name}: ", [uniform.name for uniform in pass_.uniforms])


def _uniforms(pass_: ComputePass, count: int) -> Iterator[str]:
    from gpgpu_legacy.isa.kernel import RANGES
    from gpgpu_legacy.isa.types import BOOL

    types = {uniform.name: uniform.type for uniform in pass_.kernel.uniforms}
    for uniform in pass_.uniforms:
        kind, value = types.get(uniform.name), uniform.value
        what = f"uniform {uniform.name} of {pass_in_words(pass_)}"
        yield from _number(value, count, what)
        if kind == BOOL and not {*_parts(value)} <= {False, True}:
            yield f"uniform {uniform.name} of {pass_.kernel.name} is a bool; give True or False"
        if kind is not None and kind.is_integer:
            yield from _integral(value, what)
            low, high = RANGES[kind.kind]
            for number in extremes_of(value, count):
                if not low <= number <= high:
                    yield (
                        f"{what}, of type {kind.word}, is {number:.10g}; it must be from {low} to "
                        f"{high}"
                    )


def _number(number: Number, count: int, what: str) -> Iterator[str]:
    match number:
        case Table(values=values) if len(values) != count:
            yield (
                f"{what} has a Table of {len(values)} values in a Repeat of {count} iterations; "
                "give one value per iteration"
            )
        case Affine(base=base, step=step) if not (isfinite(base) and isfinite(step)):
            yield f"{what} has {number}, which is not finite; give finite numbers"


def _integral(number: Number, what: str) -> Iterator[str]:
    """A problem if a number is no integer. Whole floats are integers, since Tables hold floats."""
    for value in _parts(number):
        if not (abs(value) <= LARGEST_INTEGER and value == int(value)):
            yield f"{what} is {value!r}; give integers of at most {LARGEST_INTEGER}"


def _parts(number: Number) -> tuple[float, ...]:
    match number:
        case Table(values=values):
            return values
        case Affine(base=base, step=step):
            return base, step
    return (number,)


# Places and values --------------------------------------------------------------------------------


def _of_draw(pass_: FragmentPass) -> Iterator[str]:
    from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS

    units, sets = [b.unit for b in pass_.bindings], [t.set for t in pass_.texcoords]
    local, env = [p.index for p in pass_.locals], [p.index for p in pass_.env]
    yield from _indices("texture", units, DEFAULT_LIMITS.texture_image_units)
    yield from _indices("fragment.texcoord", sets, DEFAULT_LIMITS.texture_coordinate_sets)
    yield from _indices("program.local", local, DEFAULT_LIMITS.local_parameters)
    yield from _indices("program.env", env, DEFAULT_LIMITS.environment_parameters)
    yield from _once("fragment.", [attribute.kind.value for attribute in pass_.attributes])
    yield from _once("", [state.binding for state in pass_.state])
    for state in pass_.state:
        from gpgpu_legacy.isa.state import state_vector  # imports NumPy

        try:
            state_vector(state.binding, {})
        except InputError as error:
            yield str(error)


def _indices(what: str, given: list[int], count: int) -> Iterator[str]:
    for index in given:
        if not 0 <= index < count:
            yield f"a pass gives {what}[{index}]; give indices from 0 to {count - 1}"
    yield from _once("", [f"{what}[{index}]" for index in given])


def _once(what: str, given: Iterable[Hashable]) -> Iterator[str]:
    for name, times in Counter(given).most_common(1):
        if times > 1:
            yield f"a pass gives {what}{name} twice; give it once"
