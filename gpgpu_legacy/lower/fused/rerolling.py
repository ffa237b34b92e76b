"""Loop rerolling: recovers the loop from a straight-line program that was unrolled.

ARB_fragment_program has no loops, so programs of the time were unrolled by hand or by a script.
Their live instructions (liveness.py) are periodic: the same instructions on the same registers,
with lookups that move by the same number of texels in each trip. Code for the loop is small however
long the program is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import Instruction
from gpgpu_legacy.lower.analysis.liveness import live_components
from gpgpu_legacy.lower.fused.content import DrawnProgram
from gpgpu_legacy.lower.lookups import AffineLookup, DependentLookup, Lookup

LONGEST_PERIOD = 64
LEAST_TRIPS = 4

Advance = tuple[int, int]
"""The texels by which a lookup moves right and up from one trip to the next."""


@frozen
class LiveInstruction:
    """A live instruction: its needed components, and its lookup if it is one.

    advance: the movement of the lookup from trip to trip of its ProgramSegment.
    """

    instruction: Instruction
    components: tuple[int, ...]
    lookup: Lookup[int] | None
    advance: Advance = (0, 0)


@frozen
class ProgramSegment:
    """Steps executed `trips` times; in trip i each lookup has moved by i times its advance."""

    steps: tuple[LiveInstruction, ...]
    trips: int = 1


def segments(draw: DrawnProgram, live: Sequence[tuple[int, ...]]) -> tuple[ProgramSegment, ...]:
    """A program's live instructions, rerolled if they repeat."""
    lookups = iter(draw.lookups)
    steps = []
    for instruction, components in zip(draw.program.instructions, live, strict=True):
        lookup = next(lookups) if instruction.texture is not None else None
        if not components:
            continue
        steps.append(LiveInstruction(instruction, components, lookup))
    return tuple(_rerolled(steps))


@lru_cache(maxsize=256)
def live_segments(draw: DrawnProgram) -> tuple[ProgramSegment, ...]:
    """The same, with liveness that assumes known lookups read no coordinates."""
    known = tuple(not isinstance(lookup, DependentLookup) for lookup in draw.lookups)
    return segments(draw, live_components(draw.program, known))


def _rerolled(steps: list[LiveInstruction]) -> Iterator[ProgramSegment]:
    if not steps:
        return
    start, period, trips = _longest(steps)
    if trips == 1:
        yield ProgramSegment(tuple(steps))
        return
    yield from _rerolled(steps[:start])
    body = [
        replace(step, advance=_advance(_place(step), _place(steps[start + period + i])))
        for i, step in enumerate(steps[start : start + period])
    ]
    yield ProgramSegment(tuple(body), trips)
    yield from _rerolled(steps[start + period * trips :])


def _longest(steps: list[LiveInstruction]) -> tuple[int, int, int]:
    """The start of the longest repetition, its period, and its trips; 1 if there is none."""
    numbers: dict[object, int] = {}
    kinds = [numbers.setdefault(_kind(step), len(numbers)) for step in steps]
    places = [_place(step) for step in steps]
    best = (0, 1, 1)
    for period in range(1, min(LONGEST_PERIOD, len(steps) // 2) + 1):
        start = 0
        while start + period < len(steps):
            length = _run(places, kinds, start, period)
            trips = length // period + 1
            if trips >= LEAST_TRIPS and trips * period > best[1] * best[2]:
                best = (start, period, trips)
            start += max(1, length)
    return best


def _run(places: list[_Place], kinds: list[int], start: int, period: int) -> int:
    """The number of steps from `start` on that repeat one period later, with even movement."""
    length = 0
    while start + length + period < len(places):
        i = start + length
        if kinds[i] != kinds[i + period]:
            break
        advance = _advance(places[i], places[i + period])
        if length >= period and advance != _advance(places[i - period], places[i]):
            break
        length += 1
    return length


def _kind(step: LiveInstruction) -> object:
    """The common form of steps in different trips."""
    instruction, lookup = step.instruction, step.lookup
    if lookup is None:
        return instruction, step.components
    if isinstance(lookup, AffineLookup):  # its base decides its slopes
        affine = (lookup.texture, lookup.base, lookup.inside)
        return replace(instruction, srcs=()), step.components, affine
    return instruction, step.components, lookup


_Place = tuple[int, int] | None
"""The texel that an affine lookup reads in the first fragment, relative to its base."""


def _place(step: LiveInstruction) -> _Place:
    if not isinstance(step.lookup, AffineLookup):
        return None
    return step.lookup.s.constant, step.lookup.t.constant


def _advance(place: _Place, later: _Place) -> Advance:
    """The movement of the lookup; zero unless it is an affine lookup."""
    if place is None or later is None:
        return (0, 0)
    return later[0] - place[0], later[1] - place[1]
