"""Staging: the texels of fused passes that a work group keeps in shared memory.

If a texel of a loop varies along x alone, every row of the group's tile needs it; if along y alone,
every column. If a program has no loop but several iterations, the iterations are the trips.

Texels of one channel are fetched four neighbours at a time if they lie side by side in aligned
rows: for neighbouring fragments, or for successive trips.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from math import prod

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import (
    Array,
    Element,
    Expression,
    Texel,
    Variable,
    integer,
    operation,
    read,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Barrier,
    Declare,
    For,
    If,
    Statement,
    Store,
    all_expressions,
    trip_count,
)
from gpgpu_legacy.isa.types import FLOAT, INT, Kind, Operator, Type, type_of
from gpgpu_legacy.lower.fused.content import Advance, Content
from gpgpu_legacy.lower.groups.invocation import (
    CORNER,
    EXTENT,
    FIRST,
    INVOCATION,
    LAST,
    quad_array,
    size_variable,
    smaller,
    texel_number,
    texture_array,
)
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.lower.lookups import AffineLookup

AT_ONCE = 4
"""The most texels of one channel in a fetch: a vector."""


class Fetched(Enum):
    """The result of a fetch for a staged lookup.

    TEXEL: a texel. OF_FRAGMENTS, OF_TRIPS: texels of one channel, for four neighbouring fragments
    or four successive trips.
    """

    TEXEL = "texels"
    OF_FRAGMENTS = "quads"
    OF_TRIPS = "numbers"


@frozen
class Staged:
    """A lookup of a loop that is staged.

    advance: its movement from trip to trip. axis: 0 if it varies along x, 1 along y. slot: its
    number among the lookups along that axis. channels: of its texture.
    """

    lookup: AffineLookup[int]
    advance: Advance
    axis: int
    slot: int
    channels: int
    fetched: Fetched = Fetched.TEXEL

    @property
    def name(self) -> str:
        """The name of the shared array. Loops share arrays of equal names."""
        width = "" if self.vector.width == AT_ONCE else self.vector.width
        return f"{('across', 'up')[self.axis]}{self.slot}_{self.fetched.value}{width}"

    @property
    def vector(self) -> Type:
        """The type of a fetch's result: a texel, or four texels of one channel."""
        return type_of(Kind.FLOAT, self.channels if self.fetched is Fetched.TEXEL else AT_ONCE)

    def length(self, shape: GroupShape) -> int:
        """Elements that a trip stages: texels, or vectors of four neighbours of one channel."""
        texels = shape.tile[self.axis]
        return texels // AT_ONCE if self.fetched is Fetched.OF_FRAGMENTS else texels

    @property
    def at_once(self) -> int:
        """The number of trips that a fetch is for."""
        return AT_ONCE if self.fetched is Fetched.OF_TRIPS else 1

    def array(self, shape: GroupShape) -> Array:
        """The shared array: a row of elements for each trip, or for four that a fetch is for.

        Rows are padded. So invocations that use the array at the same time fall on different banks:
        those of a column, or those that store the four numbers of neighbouring fetches.
        """
        length, fetches = self.length(shape), shape.k_depth // self.at_once
        if self.fetched is not Fetched.OF_TRIPS:
            return Array(self.name, self.vector, (fetches, length + 1))
        apart = max(AT_ONCE, _BANKS // fetches)
        length *= self.at_once
        return Array(self.name, FLOAT, (fetches, length + (apart - length) % _BANKS))

    def element(
        self, shape: GroupShape, fetch: Expression, part: int, place: Expression
    ) -> Element:
        """The element that a fetch stages for a place of the tile.

        part: the number of the trip among those that the fetch is for.
        """
        return Element((fetch, place + part * self.length(shape)), self.array(shape))


_BANKS = 32
"""Numbers that shared memory loads or stores at a time, each in a bank of its own."""


@frozen
class StagedTrips:
    """A loop whose lookups are staged.

    number: among the staged loops. count: of its trips; None if they are iterations.
    """

    number: int
    count: int | None
    staged: tuple[Staged, ...]

    def trip(self, iteration: Expression, number: Expression) -> tuple[Expression, Expression]:
        """The iteration, and the trip in it, that this number of a trip stands for."""
        return (number, integer(0)) if self.count is None else (iteration, number)


@frozen
class GroupStaging:
    """The staging of a group, and its statements.

    Each invocation fetches some elements of the next batch of trips into variables of its own, and
    puts them into shared arrays when the batch begins. shape: the wanted one, with the largest
    K-depth for which there is room; 0 if there is none. loops: by the position of the loop's
    statement in the body; by None if the iterations are the trips.
    """

    content: Content
    shape: GroupShape
    loops: dict[int | None, StagedTrips]

    @property
    def staged(self) -> list[Staged]:
        """The staged lookups of all loops."""
        return [staged for trips in self.loops.values() for staged in trips.staged]

    @property
    def surfaces_in_quads(self) -> set[int]:
        """The surfaces from which four texels are fetched at a time."""
        return {s.lookup.texture for s in self.staged if s.fetched is not Fetched.TEXEL}

    @property
    def arrays(self) -> list[Array]:
        """The shared arrays. Different loops use the same ones."""
        return list(dict.fromkeys(staged.array(self.shape) for staged in self.staged))

    def before_all(self) -> list[Statement]:
        """Fetch for the first batch, and compute each element's position in its texture."""
        for first in self.loops.values():
            start = read(FIRST) if first.count is None else integer(0)
            return [Declare(_GONE), *self._declared(), *self._fetched(first, read(FIRST), start)]
        return []

    def commit(
        self, trips: StagedTrips, iteration: Expression, start: Expression, last: Expression
    ) -> list[Statement]:
        """Put the fetched texels into shared memory, and fetch for the next trips."""
        statements: list[Statement] = [Barrier()]
        for staged in trips.staged:
            for element in self._elements(staged):
                for part in range(staged.at_once):
                    to = staged.element(self.shape, element.fetch, part, element.place)
                    channel = part if staged.at_once > 1 else None
                    statements += element.guarded(Store(to, read(element.variable, channel)))
        following = start + self.shape.k_depth
        after = self._after(trips, iteration)
        more = tuple(self._fetched(trips, iteration, following))
        return [*statements, Barrier(), If(following < last, more, after)]

    def _after(self, trips: StagedTrips, iteration: Expression) -> tuple[Statement, ...]:
        """After the last batch of a loop: fetch for the next loop, or the next iteration."""
        if trips.count is None:
            return ()
        loops = list(self.loops.values())
        following = loops[(trips.number + 1) % len(loops)]
        if following.number > trips.number:
            return tuple(self._fetched(following, iteration, integer(0)))
        later: Expression = iteration + 1
        return (If(later < read(LAST), tuple(self._fetched(following, later, integer(0)))),)

    # Elements

    def _elements(self, staged: Staged) -> Iterator[_AheadElement]:
        """The elements of a lookup that an invocation stages."""
        shape, length = self.shape, staged.length(self.shape)
        fetches = shape.k_depth // staged.at_once
        threads, total = shape.threads[0] * shape.threads[1], length * fetches
        together = staged.advance == (1, 0) or (
            staged.advance == (0, 0) and staged.lookup.s.iteration == 1
        )  # whether the texels of successive trips lie side by side in the texture
        for number in range(-(-total // threads)):
            element: Expression = read(INVOCATION) + number * threads
            along = integer(fetches if together else length)
            rest, whole = operation(Operator.REMAINDER, element, along), element / along
            fetch, place = (rest, whole) if together else (whole, rest)
            guard = element < total if (number + 1) * threads > total else None
            variable = Variable(f"ahead_{staged.name}_{number}", staged.vector)
            yield _AheadElement(fetch, place, guard, variable)

    def _fragment(self, staged: Staged, place: Expression) -> tuple[Expression, Expression]:
        """The fragment (x, y) at which an element of the tile is fetched.

        Past the rectangle it is the last fragment, or the first of the last four.
        """
        axis = staged.axis
        last: Expression = read(EXTENT, axis) + -1
        if staged.fetched is Fetched.OF_FRAGMENTS:
            place, last = place * AT_ONCE, last / integer(AT_ONCE) * AT_ONCE
        at = smaller(read(CORNER, axis) + place, last)
        return (integer(0), at) if axis else (at, integer(0))

    # Where elements are

    def _declared(self) -> list[Statement]:
        """The variables for texels in flight, and each element's position in its texture.

        The position is for the first trip; a trip adds the same to all elements.
        """
        variables: dict[Variable, None] = {}
        places: list[Statement] = []
        for trips in self.loops.values():
            for staged in trips.staged:
                for element in self._elements(staged):
                    variables[element.variable] = None
                    trip = trips.trip(integer(0), element.fetch * staged.at_once)
                    index = self._index(staged, self._fragment(staged, element.place), trip)
                    places.append(Declare(_place_of(trips, element), index))
        return [*places, *map(Declare, variables)]

    def _index(
        self, staged: Staged, at: tuple[Expression, ...], trip: tuple[Expression, Expression]
    ) -> Expression:
        """The index in its array of the element that a lookup reads; see texel_number."""
        lookup = staged.lookup
        s, t = (texel_number(lookup, n, staged.advance, at, trip) for n in range(2))
        index: Expression = t * read(size_variable(lookup.texture), 0) + s
        return index if staged.fetched is Fetched.TEXEL else index / integer(AT_ONCE)

    def _fetched(
        self, trips: StagedTrips, iteration: Expression, start: Expression
    ) -> Iterator[Statement]:
        """Fetch the texels for the trips from `start` on."""
        for staged in trips.staged:
            yield Assign(_GONE, (0,), self._index(staged, (), trips.trip(iteration, start)))
            surface = staged.lookup.texture
            is_texel = staged.fetched is Fetched.TEXEL
            array = texture_array(self.content, surface) if is_texel else quad_array(surface)
            for element in self._elements(staged):
                value = Element((read(_place_of(trips, element)) + read(_GONE),), array)
                held = read(element.variable)
                yield from element.guarded(Assign(held.variable, held.components, value))


def choose_staging(
    content: Content,
    body: Sequence[Statement],
    shape: GroupShape,
    shared_bytes: int,
    *,
    in_quads: bool = True,
) -> GroupStaging:
    """Choose the staging of one iteration's statements, with the largest K-depth that fits.

    in_quads: whether a fetch may be of four texels of one channel.
    """
    candidates: list[tuple[int | None, int | None, Sequence[Statement]]] = [
        (position, trip_count(statement), statement.body)
        for position, statement in enumerate(body)
        if isinstance(statement, For)
    ]
    if not candidates and content.together > 1 and len(content.draws) == 1:
        candidates = [(None, None, body)]
    depth = shape.k_depth
    while depth > 1:
        deep, loops = replace(shape, k_depth=depth), dict[int | None, StagedTrips]()
        for key, count, statements in candidates:
            staged = _staged(content, statements)
            if in_quads:
                staged = tuple(_at_once(content, s, deep, of_iterations=not count) for s in staged)
            if staged and (count or content.together) >= depth:
                loops[key] = StagedTrips(len(loops), count, staged)
        staging = GroupStaging(content, replace(deep, unroll=min(shape.unroll, depth)), loops)
        size = sum(4 * array.element.width * prod(array.extents) for array in staging.arrays)
        if loops and size <= shared_bytes:
            return staging
        depth //= 2
    return GroupStaging(content, replace(shape, k_depth=0), {})


def _staged(content: Content, statements: Sequence[Statement]) -> tuple[Staged, ...]:
    """The lookups of statements that can be staged."""
    known: dict[tuple[AffineLookup[int], Advance], Staged] = {}
    for texel in all_expressions(statements):
        if not isinstance(texel, Texel) or sum(texel.axes) != 1 or not texel.lookup.inside:
            continue
        key, axis = (texel.lookup, texel.advance), int(texel.axes.y)
        if key not in known:
            slot = sum(staged.axis == axis for staged in known.values())
            channels = content.surfaces[texel.lookup.texture].format.channels
            known[key] = Staged(*key, axis, slot, channels)
    return tuple(known.values())


def _at_once(content: Content, staged: Staged, shape: GroupShape, *, of_iterations: bool) -> Staged:
    """A lookup, fetched four texels at once if its position is always a multiple of four.

    Batches begin at multiples of the K-depth, and tiles at multiples of theirs. The trips of a
    fetch are unrolled together. of_iterations: whether the trips are the iterations.
    """
    lookup, axis = staged.lookup, staged.axis
    s, t = lookup.s, lookup.t
    along_s, along_t = (s.y, t.y) if axis else (s.x, t.x)
    step_s, step_t = (s.iteration, t.iteration) if of_iterations else staged.advance
    others = (s.constant,) if of_iterations else (s.constant, s.iteration)
    certain = lookup.aligned and not content.surfaces[lookup.texture].owned
    if not certain or any(number % AT_ONCE for number in others):
        return staged
    side_by_side = shape.side_by_side[axis] == AT_ONCE
    if (along_s, along_t) == (1, 0) and side_by_side and not step_s % AT_ONCE:
        return replace(staged, fetched=Fetched.OF_FRAGMENTS)
    if (step_s, step_t) == (1, 0) and not (along_s % AT_ONCE or shape.unroll % AT_ONCE):
        return replace(staged, fetched=Fetched.OF_TRIPS)
    return staged


@frozen
class _AheadElement:
    """An element that an invocation stages.

    fetch, place: its position in the shared array. guard: the condition that it exists; None if it
    always does. variable: holds it between the texture and the shared array.
    """

    fetch: Expression
    place: Expression
    guard: Expression | None
    variable: Variable

    def guarded(self, statement: Statement) -> tuple[Statement, ...]:
        """A statement, executed only if the element exists."""
        return (statement,) if self.guard is None else (If(self.guard, (statement,)),)


_GONE = Variable("gone", INT)
"""The part of an element's position that the trips before a batch add."""


def _place_of(trips: StagedTrips, element: _AheadElement) -> Variable:
    return Variable(f"at{trips.number}_{element.variable.name}", INT)
