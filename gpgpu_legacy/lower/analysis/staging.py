"""Which lookups of fused passes a work group stages in its shared memory, and how deep.

A loop's texel that varies along x alone is wanted by every row of the group's tile, and one that
varies along y alone by every column. Where a program has no loop but is executed for several
iterations, those are the trips.

Texels of one channel are fetched four neighbours at a time where they lie side by side in aligned
rows: those of neighbouring fragments, or those of successive trips.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import prod

from gpgpu_legacy.lower.content import Content
from gpgpu_legacy.lower.ir import Array, For, Statement, Texel, all_expressions, trip_count
from gpgpu_legacy.lower.ir_types import FLOAT, VEC4
from gpgpu_legacy.lower.lookups import AffineLookup
from gpgpu_legacy.lower.workgroups import GroupShape

AT_ONCE = 4
"""Texels of one channel that a fetch brings, at most: those of a vector."""


class Fetched(Enum):
    """What one fetch of a staged lookup brings.

    TEXEL: a texel. OF_FRAGMENTS, OF_TRIPS: texels of one channel, those of four neighbouring
    fragments or of four successive trips.
    """

    TEXEL = auto()
    OF_FRAGMENTS = auto()
    OF_TRIPS = auto()


@dataclass(frozen=True, slots=True)
class Staged:
    """A lookup of a loop that is staged.

    advance: how it moves from trip to trip. across: whether it varies along x; else along y. slot:
    its number among those that do. channels: of its texture.
    """

    lookup: AffineLookup[int]
    advance: tuple[int, int]
    across: bool
    slot: int
    channels: int
    fetched: Fetched = Fetched.TEXEL

    @property
    def name(self) -> str:
        """The shared array's."""
        return f"{'across' if self.across else 'up'}{self.slot}{self._kind}"

    @property
    def _kind(self) -> str:
        """What the array's elements are: texels, neighbours in vectors, or single numbers."""
        if self.channels == 4:
            return ""
        return "_numbers" if self.fetched is Fetched.OF_TRIPS else "_quads"

    def length(self, shape: GroupShape) -> int:
        """Elements that a trip stages: texels, or vectors of four neighbours of one channel."""
        texels = shape.tile[0 if self.across else 1]
        return -(-texels // AT_ONCE) if self._kind == "_quads" else texels

    def array(self, shape: GroupShape) -> Array:
        """The shared array, a row of elements a trip.

        A row has more elements than are staged, so that invocations of a column fall on different
        banks.
        """
        kind, more = (FLOAT, 4) if self.fetched is Fetched.OF_TRIPS else (VEC4, 1)
        return Array(self.name, kind, (shape.k_depth, self.length(shape) + more))


@dataclass(frozen=True, slots=True)
class StagedTrips:
    """A loop whose lookups are staged.

    number: among those of the fused passes. count: of its trips; None where they are iterations.
    """

    number: int
    count: int | None
    staged: tuple[Staged, ...]


@dataclass(frozen=True, slots=True)
class Staging:
    """What is staged. shape: as was wanted, with a k_depth for which there is room, or 0.

    loops: by the position of the loop's statement in the body; by None where the trips are the
    iterations.
    """

    shape: GroupShape
    loops: dict[int | None, StagedTrips]

    @property
    def in_order(self) -> list[StagedTrips]:
        """The loops, by number."""
        return list(self.loops.values())

    @property
    def surfaces_in_quads(self) -> set[int]:
        """The surfaces of which four texels are fetched at a time."""
        staged = (staged for trips in self.in_order for staged in trips.staged)
        return {s.lookup.texture for s in staged if s.fetched is not Fetched.TEXEL}

    def arrays(self) -> dict[str, Array]:
        """The shared arrays by name, which loops share."""
        return _arrays(self.in_order, self.shape)


def choose_staging(
    content: Content,
    body: Sequence[Statement],
    shape: GroupShape,
    shared_bytes: int,
    *,
    at_once: int = AT_ONCE,
) -> Staging:
    """What to stage of one iteration's statements, as deep as there is room for it.

    at_once: how many texels of one channel a fetch may bring, 1 or AT_ONCE.
    """
    candidates: list[tuple[int | None, int | None, Sequence[Statement]]] = [
        (position, trip_count(statement), statement.body)
        for position, statement in enumerate(body)
        if isinstance(statement, For)
    ]
    if not candidates and content.together > 1 and len(content.draws) == 1:
        candidates = [(None, None, body)]
    depth = shape.k_depth
    while depth >= 2:
        deep, loops = replace(shape, k_depth=depth), dict[int | None, StagedTrips]()
        for key, count, statements in candidates:
            staged = _staged(content, statements)
            if at_once == AT_ONCE:
                staged = tuple(_at_once(content, s, deep, of_iterations=not count) for s in staged)
            if staged and (count or content.together) >= depth:
                loops[key] = StagedTrips(len(loops), count, staged)
        if loops and _shared_bytes(_arrays(loops.values(), deep)) <= shared_bytes:
            return Staging(replace(deep, unroll=min(shape.unroll, depth)), loops)
        depth //= 2
    return Staging(replace(shape, k_depth=0), {})


def _staged(content: Content, statements: Sequence[Statement]) -> tuple[Staged, ...]:
    found: dict[tuple[AffineLookup[int], tuple[int, int]], Staged] = {}
    counts = {True: 0, False: 0}
    for texel in all_expressions(statements):
        if not isinstance(texel, Texel) or sum(texel.axes) != 1:
            continue
        key, across = (texel.lookup, texel.advance), texel.axes.x
        if key not in found:
            channels = content.surfaces[texel.lookup.texture].format.channels
            found[key] = Staged(*key, across, counts[across], channels)
            counts[across] += 1
    return tuple(found.values())


def _at_once(content: Content, staged: Staged, shape: GroupShape, *, of_iterations: bool) -> Staged:
    """A lookup, fetched four texels at once where all that places them is a multiple of four.

    Batches begin at multiples of the K-depth, and tiles at multiples of theirs. of_iterations:
    whether the trips are the iterations.
    """
    lookup, axis = staged.lookup, 0 if staged.across else 1
    s, t = lookup.s, lookup.t
    along_s, along_t = (s.x, t.x) if staged.across else (s.y, t.y)
    step_s, step_t = (s.iteration, t.iteration) if of_iterations else staged.advance
    others = (s.constant,) if of_iterations else (s.constant, s.iteration)
    certain = lookup.aligned and lookup.inside and not content.surfaces[lookup.texture].owned
    if not certain or any(number % AT_ONCE for number in others):
        return staged
    if (along_s, along_t) == (1, 0) and not (step_s % AT_ONCE or shape.tile[axis] % AT_ONCE):
        return replace(staged, fetched=Fetched.OF_FRAGMENTS)
    if (step_s, step_t) == (1, 0) and not (along_s % AT_ONCE or shape.k_depth % AT_ONCE):
        return replace(staged, fetched=Fetched.OF_TRIPS)
    return staged


def _arrays(loops: Iterable[StagedTrips], shape: GroupShape) -> dict[str, Array]:
    return {staged.name: staged.array(shape) for trips in loops for staged in trips.staged}


def _shared_bytes(arrays: dict[str, Array]) -> int:
    return sum(4 * array.element.width * prod(array.extents) for array in arrays.values())
