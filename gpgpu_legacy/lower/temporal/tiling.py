"""Passes that read neighbours as the statements of an invocation, several iterations at a time.

Each invocation has some fragments of its group's tile, their texels in registers from pass to pass.
Texels that neighbours read are also in shared memory. A fragment beyond the rectangle is computed
as the one from the other side if textures repeat; as the outermost one if the textures end with the
rectangle and are clamped; or else not at all, so that texels around the rectangle keep their
values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpgpu_legacy.isa.expressions import (
    Array,
    Constant,
    Element,
    Expression,
    Read,
    Role,
    Texel,
    Variable,
    all_of,
    components,
    operation,
    read,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Barrier,
    For,
    If,
    Statement,
    Store,
    all_expressions,
)
from gpgpu_legacy.isa.types import (
    ALONG_X,
    ALONG_Y,
    BOOL,
    EVERYWHERE,
    INT,
    Axes,
    Kind,
    Operator,
    type_of,
)
from gpgpu_legacy.lower.fused.body import own_variable
from gpgpu_legacy.lower.fused.content import Content
from gpgpu_legacy.lower.groups.invocation import (
    CORNER,
    EXTENT,
    FIRST,
    LAST,
    THREAD,
    integer,
    origin_variable,
    placed,
    size_variable,
    smaller,
    texel_element,
    texture_array,
)
from gpgpu_legacy.lower.groups.tile import Fragment, RegisterTile
from gpgpu_legacy.lower.lookups import AffineLookup, NeighbourLookup
from gpgpu_legacy.lower.temporal.content import (
    TemporalContent,
    TemporalShape,
    shared_length,
    shared_padding,
)

COMPLETE = Variable("complete", BOOL)
"""Whether no iteration follows, so that surfaces that are not live are stored, too."""

ITERATION = Variable("iteration", INT)
"""The number of the iteration."""

MOST_KEPT = 32
"""The most numbers of read-only texels that an invocation keeps in registers."""

_PLACE = (Variable("x", INT), Variable("y", INT))  # in the rectangle, and around it
_DRAWN = (Variable("column", INT), Variable("row", INT))  # which fragment is computed there
_WITHIN = (Variable("within_x", BOOL), Variable("within_y", BOOL))  # whether any is
_NEAR = (Variable("near_x", INT), Variable("near_y", INT))  # where its texel is in shared arrays
_ALONG = (ALONG_X, ALONG_Y)


def stored_array(content: TemporalContent, surface: int) -> Array:
    """The array that a live surface's texels are stored in; tiles around still read the other."""
    return replace(texture_array(content.content, surface), name=f"stored{surface}")


def shared_array(content: TemporalContent, shape: TemporalShape, surface: int) -> Array:
    """A surface's texels of a group's tile, row after row, with room at both ends."""
    element = texture_array(content.content, surface).element
    return Array(f"near{surface}", element, (shared_length(shape, content.content),))


class TemporalTiling:
    """Makes the statements of an invocation."""

    def __init__(
        self, content: TemporalContent, body: Sequence[Statement], shape: TemporalShape
    ) -> None:
        """body: of one iteration, for one fragment."""
        self.temporal, self.content, self.shape = content, content.content, shape
        self.tile = RegisterTile(shape.rows, shape.columns, self._at_fragment)
        most = MOST_KEPT // (shape.columns * shape.rows)
        self.kept = _kept_texels(self.content, body, most)
        self.body = body
        self.waits_before, self.waits_behind = _barriers(body, content.near)
        self.clamps = tuple(
            any(content.ends[axis]) and not content.wraps[axis] for axis in range(2)
        )
        self.keeps = tuple(any(content.keeps[axis]) for axis in range(2))
        self.meets_edge = True
        self.iteration: Expression = integer(0)

    def statements(self) -> list[Statement]:
        """All of them, the variables' declarations first."""
        tile = self.tile
        for axis in range(2):
            self._place(axis)
        for surface in self.content.owned:
            self._load(surface)
        for lookup, variable in self.kept.items():
            for fragment in tile.fragments(lookup.axes):
                texel = self._elsewhere(lookup, (0, 0), fragment)
                self._let(variable, lookup.axes, fragment, texel)
        for surface in self.temporal.near:
            self._share(surface)
        self.iteration = read(ITERATION)
        self._iterations()
        for number, known in enumerate(self.content.surfaces):
            if known.written:
                self._store(number)
        return [*tile.declarations(), *tile.statements]

    # Places

    def _in_tile(self, axis: int, number: int) -> Expression:
        """The position in the group's tile of a column or a row of the invocation."""
        if axis == 0:
            along: Expression = read(THREAD, 0) + number * self.shape.threads[0]
            return along
        up: Expression = read(THREAD, 1) * self.shape.rows + number
        return up

    def _place(self, axis: int) -> None:
        """The positions of columns or rows, and the fragments computed there."""
        tile, along, last = self.tile, _ALONG[axis], read(EXTENT, axis) + -1
        low, high = self.temporal.keeps[axis]
        for fragment in tile.fragments(along):
            number = fragment[1 - axis]
            place = read(CORNER, axis) + self._in_tile(axis, number)
            here = self._let(_PLACE[axis], along, fragment, place)
            if self.temporal.wraps[axis]:
                # The tile begins no further before the rectangle than it is wide.
                around = here + read(EXTENT, axis) * self.shape.tile[axis]
                drawn = operation(Operator.REMAINDER, around, read(EXTENT, axis))
            else:
                drawn = smaller(operation(Operator.MAXIMUM, here, integer(0)), last)
            at = self._let(_DRAWN[axis], along, fragment, drawn)
            if self.keeps[axis]:
                sides = [*([here >= 0] if low else []), *([here <= last] if high else [])]
                self._let(_WITHIN[axis], along, fragment, all_of(sides))
            if self.clamps[axis]:
                self._let(_NEAR[axis], along, fragment, at + read(CORNER, axis) * -1)

    def _let(self, variable: Variable, axes: Axes, fragment: Fragment, value: Expression) -> Read:
        self.tile.axes[variable] = axes
        self.tile.assign(variable, fragment, value)
        return self._read(variable, fragment)

    def _read(self, variable: Variable, fragment: Fragment) -> Read:
        return read(self.tile.cell(variable, fragment), axes=self.tile.axes[variable])

    def _own(self, surface: int) -> Variable:
        return own_variable(self.content, surface)

    # Texels of textures

    def _element(self, surface: int, array: Array, at: Sequence[Expression]) -> Element:
        """A texel of a surface by its place in the rectangle."""
        origin, width = origin_variable(surface), read(size_variable(surface), 0)
        row, column = at[1] + read(origin, 1), at[0] + read(origin, 0)
        return Element((row * width + column,), array)

    def _loaded(self, surface: int, fragment: Fragment) -> Element:
        """The texel that a fragment begins with."""
        at: list[Expression] = []
        for axis in range(2):
            place = self._read(_DRAWN[axis], fragment)
            if surface in self.temporal.near and self.keeps[axis]:
                # Texels around the rectangle, as far as the texture goes.
                origin = read(origin_variable(surface), axis)
                last = read(size_variable(surface), axis) + -1
                inside = operation(
                    Operator.MAXIMUM, self._read(_PLACE[axis], fragment) + origin, integer(0)
                )
                place = smaller(inside, last) + origin * -1
            at.append(place)
        return self._element(surface, texture_array(self.content, surface), at)

    def _load(self, surface: int) -> None:
        """The fragments' own texels. Surfaces that each iteration writes first are loaded only
        around it.
        """
        variable, tile = self._own(surface), self.tile
        zero = Constant((0.0,) * variable.type.width, variable.type)
        begins = surface in self.temporal.live or not self.content.surfaces[surface].written
        around = surface in self.temporal.near and any(self.keeps)
        for fragment in tile.fragments(EVERYWHERE):
            texel = self._loaded(surface, fragment)
            held = self._let(variable, EVERYWHERE, fragment, texel if begins else zero)
            if around and not begins:
                outside = operation(Operator.NOT, self._within(fragment))
                tile.add(If(outside, (Assign(held.variable, held.components, texel),)))

    def _within(self, fragment: Fragment) -> Expression:
        """Whether a fragment is in the rectangle, not around it."""
        return all_of(
            [self._read(_WITHIN[axis], fragment) for axis in range(2) if self.keeps[axis]]
        )

    def _store(self, surface: int) -> None:
        """The fragments' texels, except near the tile's edges."""
        live = surface in self.temporal.live
        array = (
            stored_array(self.temporal, surface) if live else texture_array(self.content, surface)
        )
        margins = self.shape.margins(self.temporal.reach)
        stores: list[Statement] = []
        for fragment in self.tile.fragments(EVERYWHERE):
            at = [self._read(_PLACE[axis], fragment) for axis in range(2)]
            conditions: list[Expression] = []
            for axis, (low, high) in enumerate(margins):
                here = self._in_tile(axis, fragment[1 - axis])
                conditions += here >= low, here < self.shape.tile[axis] - high
                conditions.append(at[axis] < read(EXTENT, axis))
            held = read(self.tile.cell(self._own(surface), fragment))
            stores.append(If(all_of(conditions), (Store(self._element(surface, array, at), held),)))
        self.tile.add(*stores if live else [If(read(COMPLETE), tuple(stores))])

    # Texels in shared memory

    def _share(self, surface: int) -> None:
        """The fragments' texels, for their neighbours."""
        array = shared_array(self.temporal, self.shape, surface)
        for fragment in self.tile.fragments(EVERYWHERE):
            at = (self._in_tile(0, fragment[1]), self._in_tile(1, fragment[0]))
            place = self._shared(array, at, 0, 0)
            self.tile.add(Store(place, read(self.tile.cell(self._own(surface), fragment))))

    def _shared(self, array: Array, at: Sequence[Expression], right: int, up: int) -> Element:
        """An element of a shared array. at: a column and a row of the tile."""
        width = self.shape.tile[0]
        moved = up * width + right + shared_padding(self.shape, self.content)
        return Element((at[1] * width + at[0] + moved,), array)

    def _neighbour(self, lookup: NeighbourLookup[int], fragment: Fragment) -> Expression:
        """A neighbour's texel: of the invocation's own, or of another's."""
        row, column = fragment
        clamps = [axis_clamps and self.meets_edge for axis_clamps in self.clamps]
        beside = row + lookup.up, column
        if not lookup.right and not clamps[1] and 0 <= beside[0] < self.shape.rows:
            return read(self.tile.cell(self._own(lookup.texture), beside), axes=EVERYWHERE)
        at = [
            self._read(_NEAR[axis], fragment)
            if clamps[axis]
            else self._in_tile(axis, fragment[1 - axis])
            for axis in range(2)
        ]
        array = shared_array(self.temporal, self.shape, lookup.texture)
        return self._shared(array, at, lookup.right, lookup.up)

    # Fragments

    def _at_fragment(self, value: Expression, fragment: Fragment) -> Expression:
        """A part of an expression at a fragment of the invocation."""
        match value:
            case Texel(lookup=NeighbourLookup() as near):
                return components(self._neighbour(near, fragment), value.components)
            case Texel(lookup=AffineLookup() as lookup) if lookup in self.kept:
                return components(self._read(self.kept[lookup], fragment), value.components)
            case Texel(lookup=AffineLookup() as lookup):
                texel = self._elsewhere(lookup, value.advance, fragment)
                return components(texel, value.components)
        return placed(self.content, value, lambda axis: self._read(_DRAWN[axis], fragment))

    def _elsewhere(
        self, lookup: AffineLookup[int], advance: tuple[int, int], fragment: Fragment
    ) -> Expression:
        """A texel of a texture that no pass writes."""
        at = (self._read(_DRAWN[0], fragment), self._read(_DRAWN[1], fragment))
        return texel_element(self.content, lookup, advance, at, (self.iteration, integer(0)))

    # Iterations

    def _iterations(self) -> None:
        """All of them. Where textures are clamped, a tile inside of the rectangle has code of its
        own: its texels lie at places that are known, and many are in registers.
        """
        tile = self.tile
        whole = self._loop_of_iterations()
        if not any(self.clamps):
            tile.add(whole)
            return
        self.meets_edge = False
        inner = self._loop_of_iterations()
        self.meets_edge = True
        inside: list[Expression] = []
        for axis in range(2):
            if not self.temporal.wraps[axis]:
                end = read(CORNER, axis) + self.shape.tile[axis]
                inside += read(CORNER, axis) >= 0, end <= read(EXTENT, axis)
        tile.add(If(all_of(inside), (inner,), (whole,)))

    def _loop_of_iterations(self) -> For:
        return For(ITERATION, read(FIRST), read(LAST), self.tile.inside(self._iteration))

    def _iteration(self) -> None:
        near, tile = self.temporal.near, self.tile
        for position, statement in enumerate(self.body):
            if position in self.waits_before:
                tile.add(Barrier())
            tile.execute(self._kept_around(statement))
            surface = _written_surface(statement)
            if surface in near:
                if position in self.waits_behind:
                    tile.add(Barrier())
                self._share(surface)

    def _kept_around(self, statement: Statement) -> Statement:
        """A write that leaves texels around the rectangle unchanged."""
        surface = _written_surface(statement)
        if surface not in self.temporal.near or not any(self.keeps) or not self.meets_edge:
            return statement
        assert isinstance(statement, Assign)
        held = Read(statement.variable, statement.components, EVERYWHERE)
        sides = [Read(_WITHIN[axis], (0,), _ALONG[axis]) for axis in range(2) if self.keeps[axis]]
        value = operation(Operator.SELECT, all_of(sides), statement.value, held)
        return replace(statement, value=value)


def _written_surface(statement: Statement) -> int:
    """The surface whose own texel a statement writes; -1 if it writes none."""
    if isinstance(statement, Assign) and statement.variable.role is Role.OWN:
        return statement.variable.number
    return -1


def _kept_texels(
    content: Content, body: Iterable[Statement], most: int
) -> dict[AffineLookup[int], Variable]:
    """The lookups that give a fragment the same texel in every iteration, and their variables.

    most: numbers of a fragment that are kept.
    """
    kept: dict[AffineLookup[int], Variable] = {}
    for part in all_expressions(body):
        if not isinstance(part, Texel) or not isinstance(part.lookup, AffineLookup):
            continue
        lookup = part.lookup
        channels = content.surfaces[lookup.texture].format.channels
        if lookup in kept or lookup.s.iteration or lookup.t.iteration or channels > most:
            continue
        kept[lookup] = Variable("kept", type_of(Kind.FLOAT, channels), number=len(kept))
        most -= channels
    return kept


# Barriers ----------------------------------------------------------------------------------------


def _barriers(body: Sequence[Statement], near: tuple[int, ...]) -> tuple[set[int], set[int]]:
    """The numbers of the statements before which, and after which, invocations wait, whatever the
    iteration before did.

    After a statement that writes a surface's texels the invocation puts them into shared memory,
    when no other may still read the old ones. Before a statement reads them, all must be there.
    """
    before, behind = set[int](), set[int]()
    read, written = set[int](), set(near)
    while True:
        state = (set(read), set(written))
        for position, statement in enumerate(body):
            parts = all_expressions((statement,))
            looks = (part.lookup for part in parts if isinstance(part, Texel))
            reads = {look.texture for look in looks if isinstance(look, NeighbourLookup)}
            if reads & written:
                before.add(position)
                read, written = set(), set()
            read |= reads
            surface = _written_surface(statement)
            if surface in near:
                if surface in read:
                    behind.add(position)
                    read, written = set(), set()
                written.add(surface)
        read, written = read | state[0], written | state[1]
        if (read, written) == state:
            return before, behind
