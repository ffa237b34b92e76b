"""What a work group stages of texels, on its way from the textures into the shared arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpgpu_legacy.lower.analysis.staging import AT_ONCE, Fetched, Staged, StagedTrips, Staging
from gpgpu_legacy.lower.content import Content
from gpgpu_legacy.lower.invocation import (
    CORNER,
    EXTENT,
    FIRST,
    INVOCATION,
    LAST,
    integer,
    quad_array,
    read,
    size_variable,
    smaller,
    texel_element,
    texel_number,
    texture_array,
)
from gpgpu_legacy.lower.ir import (
    Array,
    Assign,
    Barrier,
    Declare,
    Element,
    Expression,
    If,
    Statement,
    Store,
    Variable,
    compose,
    operation,
)
from gpgpu_legacy.lower.ir_types import INT, VEC4, Operator


class StagedCopies:
    """Fetches what the next batch of trips will want, and puts it into shared arrays.

    Each invocation fetches some elements of a batch, into variables of its own.
    """

    def __init__(self, content: Content, staging: Staging) -> None:
        """Of fused passes of this content."""
        self.content, self.staging, self.shape = content, staging, staging.shape

    def before_all(self) -> list[Statement]:
        """Fetch for the first batch of all; and say where each element is in its texture."""
        loops = self.staging.in_order
        if not loops:
            return []
        first = loops[0]
        start = read(FIRST) if first.count is None else integer(0)
        return [Declare(_GONE), *self._declared(), *self._fetched(first, read(FIRST), start)]

    def commit(
        self, trips: StagedTrips, iteration: Expression, start: Expression, last: Expression
    ) -> list[Statement]:
        """Put what was fetched into shared memory, and fetch for the trips after these."""
        statements: list[Statement] = [Barrier()]
        arrays = self.staging.arrays()
        for staged in trips.staged:
            for element in self._elements(staged):
                for trip, value in self._values(staged, element):
                    place = Element((trip, element.place), arrays[staged.name])
                    statements += element.guarded(Store(place, value))
        following = start + self.shape.k_depth
        after = self._after(trips, iteration)
        more = tuple(self._fetched(trips, iteration, following))
        return [*statements, Barrier(), If(following < last, more, after)]

    def _after(self, trips: StagedTrips, iteration: Expression) -> tuple[Statement, ...]:
        """Behind the last batch of a loop: fetch for the next loop, or the next iteration."""
        if trips.count is None:
            return ()
        loops = self.staging.in_order
        following = loops[(trips.number + 1) % len(loops)]
        if following.number > trips.number:
            return tuple(self._fetched(following, iteration, integer(0)))
        later: Expression = iteration + 1
        return (If(later < read(LAST), tuple(self._fetched(following, later, integer(0)))),)

    # Elements

    def _elements(self, staged: Staged) -> Iterator[_AheadElement]:
        """What an invocation stages of a lookup."""
        shape, length = self.shape, staged.length(self.shape)
        at_once = AT_ONCE if staged.fetched is Fetched.OF_TRIPS else 1
        fetches = shape.k_depth // at_once
        threads, total = shape.threads[0] * shape.threads[1], length * fetches
        together = staged.advance == (1, 0) or (
            staged.advance == (0, 0) and staged.lookup.s.iteration == 1
        )  # whether the texels of successive trips lie side by side in the texture
        for number in range(-(-total // threads)):
            element: Expression = read(INVOCATION) + number * threads
            along = integer(fetches if together else length)
            rest, whole = operation(Operator.REMAINDER, element, along), element / along
            trip, place = (rest, whole) if together else (whole, rest)
            guard = element < total if (number + 1) * threads > total else None
            variable = Variable(f"ahead_{staged.name}_{number}", VEC4)
            yield _AheadElement(trip * at_once, place, guard, variable)

    def _values(
        self, staged: Staged, element: _AheadElement
    ) -> list[tuple[Expression, Expression]]:
        """The trips that an element is of, each with its value."""
        if staged.fetched is not Fetched.OF_TRIPS:
            return [(element.trip, read(element.variable))]
        return [(element.trip + part, read(element.variable, part)) for part in range(AT_ONCE)]

    def _texels(self, staged: Staged, place: Expression) -> list[Expression]:
        """The fragments of the tile, along an axis, at which an element is fetched."""
        if staged.channels == 4 or staged.fetched is Fetched.OF_TRIPS:
            return [place]
        if staged.fetched is Fetched.OF_FRAGMENTS:
            return [place * AT_ONCE]
        return [place * AT_ONCE + part for part in range(AT_ONCE)]

    def _fragment(self, staged: Staged, place: Expression) -> tuple[Expression, Expression]:
        """The fragment (x, y) at a place of the tile along a lookup's axis.

        Past the rectangle it is the last one, or the first of the last four.
        """
        axis = 0 if staged.across else 1
        last: Expression = read(EXTENT, axis) + -1
        if staged.fetched is Fetched.OF_FRAGMENTS:
            last = last / integer(AT_ONCE) * AT_ONCE
        at = smaller(read(CORNER, axis) + place, last)
        return (at, integer(0)) if staged.across else (integer(0), at)

    # Where elements are

    def _declared(self) -> list[Statement]:
        """The variables for what is on its way, and where in its texture each element is found.

        The place is that of the first trip; what a trip adds to it is the same for all elements.
        """
        variables: dict[Variable, None] = {}
        places: list[Statement] = []
        for trips in self.staging.in_order:
            for staged in trips.staged:
                for element in self._elements(staged):
                    variables[element.variable] = None
                    if not staged.lookup.inside:
                        continue
                    for part, place in enumerate(self._texels(staged, element.place)):
                        at = self._fragment(staged, place)
                        trip = (integer(0), element.trip)
                        trip = trip if trips.count is not None else trip[::-1]
                        index = self._index(staged, (*at, *trip))
                        places.append(Declare(_place_of(trips, element, part), index))
        return [*places, *(Declare(variable) for variable in variables)]

    def _index(
        self, staged: Staged, variables: tuple[Expression, ...], *, moved: bool = False
    ) -> Expression:
        """Which element of its array a lookup reads; or, if `moved`, what the trip adds to that."""
        lookup, advance = staged.lookup, staged.advance
        s, t = (texel_number(lookup, n, advance, variables, moved=moved) for n in range(2))
        index: Expression = t * read(size_variable(lookup.texture), 0) + s
        return index if staged.fetched is Fetched.TEXEL else index / integer(AT_ONCE)

    def _array(self, staged: Staged) -> Array:
        """The array that a lookup is fetched from."""
        texture = staged.lookup.texture
        if staged.fetched is Fetched.TEXEL:
            return texture_array(self.content, texture)
        return quad_array(texture)

    def _fetched(
        self, trips: StagedTrips, iteration: Expression, start: Expression
    ) -> Iterator[Statement]:
        """Fetch what the trips from `start` on will want."""
        for staged in trips.staged:
            number = (iteration, start) if trips.count is not None else (start, integer(0))
            if staged.lookup.inside:
                gone = self._index(staged, (integer(0), integer(0), *number), moved=True)
                yield Assign(_GONE, (0,), gone)
            for element in self._elements(staged):
                texels = [
                    self._texel(trips, staged, element, part, (iteration, start))
                    for part in range(len(self._texels(staged, element.place)))
                ]
                value = texels[0] if len(texels) == 1 else compose(texels)
                yield from element.guarded(Assign(element.variable, (0, 1, 2, 3), value))

    def _texel(
        self,
        trips: StagedTrips,
        staged: Staged,
        element: _AheadElement,
        part: int,
        at: tuple[Expression, Expression],
    ) -> Expression:
        """A texel of an element. at: the iteration, and the first trip of the batch."""
        if staged.lookup.inside:
            index = read(_place_of(trips, element, part)) + read(_GONE)
            return Element((index,), self._array(staged))
        iteration, start = at
        number = start + element.trip
        trip = (iteration, number) if trips.count is not None else (number, integer(0))
        place = self._texels(staged, element.place)[part]
        fragment = self._fragment(staged, place)
        return texel_element(self.content, staged.lookup, staged.advance, fragment, trip)


@dataclass(frozen=True, slots=True)
class _AheadElement:
    """What an invocation stages of a lookup.

    trip, place: where in the shared array. guard: a condition for there to be such an element.
    variable: what holds it on its way.
    """

    trip: Expression
    place: Expression
    guard: Expression | None
    variable: Variable

    def guarded(self, statement: Statement) -> tuple[Statement, ...]:
        """A statement, executed where there is such an element."""
        return (statement,) if self.guard is None else (If(self.guard, (statement,)),)


_GONE = Variable("gone", INT)
"""What the trips up to a batch add to the place of an element."""


def _place_of(trips: StagedTrips, element: _AheadElement, part: int) -> Variable:
    name = f"at{trips.number}_{element.variable.name}_{part}"
    return Variable(name, INT)
