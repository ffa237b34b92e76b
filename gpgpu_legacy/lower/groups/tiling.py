"""Fused passes as the statements of an invocation that has a register tile of fragments.

A one-fragment statement (lower/fused/body.py) is repeated for every fragment of the register tile
at which it differs: a variable that varies along x alone is kept once per column, one that varies
along y alone once per row. Texels become elements of the textures' arrays, or of the shared arrays
in which they are staged: while one batch of trips is being used, the next is on its way from the
textures, in variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import (
    Element,
    Expression,
    Read,
    Texel,
    Variable,
    component,
    components,
    integer,
    read,
)
from gpgpu_legacy.isa.statements import Declare, For, If, Statement, Store, read_first, trip_count
from gpgpu_legacy.isa.types import EVERYWHERE, INT
from gpgpu_legacy.lower.fused.body import own_texel, own_variable
from gpgpu_legacy.lower.fused.content import Advance, Content
from gpgpu_legacy.lower.groups.invocation import (
    BATCH,
    CORNER,
    EXTENT,
    FIRST,
    LAST,
    THREAD,
    own_element,
    placed,
    smaller,
    texel_element,
    texture_array,
)
from gpgpu_legacy.lower.groups.staging import (
    AT_ONCE,
    Fetched,
    GroupStaging,
    Staged,
    StagedTrips,
)
from gpgpu_legacy.lower.groups.tile import Fragment, RegisterTile, TexelLoads
from gpgpu_legacy.lower.lookups import AffineLookup

_Place = tuple[Expression | None, int]


@frozen
class _Trip:
    """The trip in which statements are executed.

    place: of the trip in its batch: the first of the trips that are unrolled together, and the
    distance from it. The first is None if it is also that of the batch.
    """

    iteration: Expression
    trip: Expression = integer(0)
    staged: StagedTrips | None = None
    place: _Place = (None, 0)


class GroupTiling(RegisterTile):
    """Makes the statements of an invocation."""

    def __init__(self, content: Content, body: Sequence[Statement], staging: GroupStaging) -> None:
        """body: of one iteration, for one fragment."""
        self.body, self.staging, self.shape = body, staging, staging.shape
        size = self.shape.columns, self.shape.rows
        super().__init__(content, size, self.shape.threads, self.shape.side_by_side)
        self.loads = TexelLoads(self, self._load)
        self.trip = _Trip(integer(0))

    def all_statements(self) -> list[Statement]:
        """All statements of an invocation, the variables' declarations first."""
        content = self.content
        for surface in content.owned:
            self.axes[own_variable(content, surface)] = EVERYWHERE
        self.add(*self.staging.before_all())
        for surface in self._read_first():
            # Past the rectangle, the value of its last column or row.
            for fragment, element in self._own_elements(surface, self._kept):
                self.assign(own_variable(content, surface), fragment, element)
        if None in self.staging.loops:
            self._trips_of_iterations(self.staging.loops[None])
        else:
            number = Variable("iteration", INT)
            self.trip = _Trip(read(number))
            inner = self.inside(lambda: self._iteration(self.body))
            if content.together > 1:
                self.add(For(number, read(FIRST), read(LAST), inner))
            else:
                self.add(Declare(number, read(FIRST)), *inner)
        for surface in content.owned:
            if content.surfaces[surface].written:
                self._store_own(surface)
        return [*self._places(), *self.declarations(), *self.statements]

    def _read_first(self) -> list[int]:
        """The surfaces of which an iteration, or the stores after it, read earlier texels.

        A texel is stored whole, so the channels that a mask protects are read, too.
        """
        owned = {n: own_texel(self.content, n) for n in self.content.owned}
        stores = [
            Declare(texel.variable, texel)
            for surface, texel in owned.items()
            if self.content.surfaces[surface].written
        ]
        early = {variable for variable, _ in read_first((*self.body, *stores))}
        return [surface for surface, texel in owned.items() if texel.variable in early]

    # Fragments

    def _places(self) -> Iterator[Statement]:
        """Declare the positions of the invocation's fragments."""
        for axis, count in enumerate((self.columns, self.rows)):
            for number in range(count):
                place = read(CORNER, axis) + self.in_tile(axis, number)
                yield Declare(self._fragment(axis, number).variable, place)

    def _fragment(self, axis: int, number: int) -> Read:
        return read(Variable("xy"[axis] + str(number), INT))

    def _kept(self, axis: int, number: int) -> Expression:
        """A fragment's column or row; past the rectangle, its last."""
        return smaller(self._fragment(axis, number), read(EXTENT, axis) + -1)

    def _store_own(self, surface: int) -> None:
        columns, rows = (
            [self._fragment(axis, n) < read(EXTENT, axis) for n in range(count)]
            for axis, count in enumerate((self.columns, self.rows))
        )
        for (row, column), element in self._own_elements(surface, self._fragment):
            store = Store(element, self.own(surface, (row, column)))
            self.add(If(columns[column] & rows[row], (store,)))

    def _own_elements(
        self, surface: int, place: Callable[[int, int], Expression]
    ) -> Iterator[tuple[Fragment, Element]]:
        """The fragments' own texels in a surface. place: the number of a fragment's column or row.

        Each is an expression by itself: a driver would keep shared parts in registers from the
        loads to the stores, and registers are scarce here.
        """
        array = texture_array(self.content, surface)
        for row, column in self.fragments(EVERYWHERE):
            at = place(0, column), place(1, row)
            yield (row, column), own_element(surface, array, at)

    def at_fragment(self, part: Expression, fragment: Fragment) -> Expression:
        """See RegisterTile."""
        if isinstance(part, Texel):
            return self._texel(part, fragment)
        return placed(self.content, part, lambda axis: self._fragment(axis, fragment[1 - axis]))

    # Texels

    def _texel(self, texel: Texel[AffineLookup[int]], fragment: Fragment) -> Expression:
        wanted, trips = (texel.lookup, texel.advance), self.trip.staged
        for staged in trips.staged if trips else ():
            if (staged.lookup, staged.advance) == wanted:
                whole = self._from_shared(staged, fragment[1 - staged.axis])
                break
        else:
            whole = self.loads.texel(texel, fragment)
        return components(whole, texel.components)

    def _load(self, lookup: AffineLookup[int], advance: Advance, fragment: Fragment) -> Expression:
        """A texel from its texture, in this trip."""
        row, column = fragment
        at = (self._kept(0, column), self._kept(1, row))
        trip = (self.trip.iteration, self.trip.trip)
        return texel_element(self.content, lookup, advance, at, trip)

    def _from_shared(self, staged: Staged, number: int) -> Expression:
        axis, (first, ahead) = staged.axis, self.trip.place
        fetch, part = divmod(ahead, staged.at_once)
        row: Expression = integer(fetch)
        if first is not None:
            row = (first / integer(staged.at_once) if staged.at_once > 1 else first) + fetch
        if staged.fetched is not Fetched.OF_FRAGMENTS:
            return staged.element(self.shape, row, part, self.in_tile(axis, number))
        group, rest = divmod(number, AT_ONCE)
        index = read(THREAD, axis) + group * self.shape.threads[axis]
        return component(staged.element(self.shape, row, part, index), rest)

    # Loops

    def _iteration(self, statements: Sequence[Statement]) -> None:
        self.loads.begin(statements)
        for position, statement in enumerate(statements):
            if isinstance(statement, For):
                self._loop(statement, self.staging.loops.get(position))
                self.loads.begin(statements)
            else:
                self.execute(statement)

    def _loop(self, loop: For, staged: StagedTrips | None) -> None:
        depth, outer, done = self.shape.k_depth, self.trip, 0
        head, trips = self.widen_for(loop), trip_count(loop)

        def trip(trip: _Trip) -> None:
            self.trip = trip
            self.loads.begin(loop.body)
            self.execute_trip(loop, head)

        def staged_trip(place: _Place, number: Expression) -> None:
            trip(_Trip(outer.iteration, number, staged, place))

        if staged is not None:
            done = trips // depth * depth
            # A compiler that knew this number would unroll the loop of batches.
            self._batches(staged, (integer(0), read(BATCH) * (done // depth)), staged_trip)
        if done < trips:
            number = Variable("trip", INT)
            inner = self.inside(lambda: trip(_Trip(outer.iteration, read(number))))
            self.add(For(number, integer(done), integer(trips), inner))
        self.trip = outer

    def _batches(
        self,
        staged: StagedTrips,
        ends: tuple[Expression, Expression],
        body: Callable[[_Place, Expression], None],
    ) -> None:
        """Add trips in batches that are staged together.

        ends: the first trip, and the one after the last. body: adds a trip, by place and number.
        """
        shape, (first, last) = self.shape, ends
        start, within = Variable("start", INT), Variable("within", INT)
        whole = shape.unroll == shape.k_depth

        def unrolled() -> None:
            for ahead in range(shape.unroll):
                if whole:
                    body((None, ahead), read(start) + ahead)
                else:
                    body((read(within), ahead), read(start) + (read(within) + ahead))

        iteration, inner = self.trip.iteration, self.inside(unrolled)
        if not whole:
            inner = (For(within, integer(0), read(BATCH), inner, shape.unroll),)
        commit = self.staging.commit(staged, iteration, read(start), last)
        self.add(For(start, first, last, (*commit, *inner), shape.k_depth))

    def _trips_of_iterations(self, staged: StagedTrips) -> None:
        """Add fused passes whose iterations are the trips; left-over iterations come last."""
        depth = self.shape.k_depth
        whole, left = Variable("whole", INT), Variable("left", INT)
        length = read(LAST) - read(FIRST)
        self.add(Declare(whole, read(FIRST) + length / integer(depth) * depth))

        def iteration(trip: _Trip) -> None:
            self.trip = trip
            self._iteration(self.body)

        def staged_trip(place: _Place, number: Expression) -> None:
            iteration(_Trip(number, integer(0), staged, place))

        self._batches(staged, (read(FIRST), read(whole)), staged_trip)
        inner = self.inside(lambda: iteration(_Trip(read(left))))
        self.add(For(left, read(whole), read(LAST), inner))
