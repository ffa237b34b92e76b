"""Passes that read neighbours as the statements of an invocation, several iterations at a time.

Each invocation has some fragments of its group's tile, and keeps their texels in registers from
pass to pass. Texels that neighbours read are also in shared memory. A fragment beyond the rectangle
is computed as the one from the other side if textures repeat, and as the outermost one if the
textures end with the rectangle and are clamped. Otherwise it is not computed, so that texels around
the rectangle keep their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpgpu_legacy.isa.expressions import (
    Array,
    Element,
    Expression,
    Read,
    Role,
    Texel,
    Variable,
    all_of,
    components,
    compose,
    integer,
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
from gpgpu_legacy.lower.fused.content import Advance, Content
from gpgpu_legacy.lower.groups.invocation import (
    CORNER,
    EXTENT,
    FIRST,
    LAST,
    clamped,
    origin_variable,
    own_element,
    placed,
    size_variable,
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

_PLACE = (Variable("x", INT), Variable("y", INT))  # of a fragment, in the rectangle or around it
_DRAWN = (Variable("column", INT), Variable("row", INT))  # the fragment computed there
_WITHIN = (Variable("within_x", BOOL), Variable("within_y", BOOL))  # whether one is computed
_NEAR = (Variable("near_x", INT), Variable("near_y", INT))  # its column and row in the group's tile
_ALONG = (ALONG_X, ALONG_Y)


def stored_array(content: TemporalContent, surface: int) -> Array:
    """The array in which a live surface's texels are stored; other tiles still read the old one."""
    return replace(texture_array(content.content, surface), name=f"stored{surface}")


def shared_array(content: TemporalContent, shape: TemporalShape, surface: int) -> Array:
    """A surface's texels in a group's tile, row after row, with padding at both ends."""
    element = texture_array(content.content, surface).element
    return Array(f"near{surface}", element, (shared_length(shape, content.content),))


class TemporalTiling(RegisterTile):
    """Makes the statements of an invocation."""

    def __init__(
        self, content: TemporalContent, body: Sequence[Statement], shape: TemporalShape
    ) -> None:
        """body: of one iteration, for one fragment."""
        size, side_by_side = (shape.columns, shape.rows), (1, shape.rows)
        super().__init__(content.content, size, shape.threads, side_by_side)
        self.temporal, self.shape, self.body, self.near = content, shape, body, content.near
        self.kept = _kept_texels(self.content, body, MOST_KEPT // (shape.columns * shape.rows))
        self.waits_before, self.waits_behind = _barriers(body, self.near)
        self.clamps = [
            any(ends) and not w for ends, w in zip(content.ends, content.wraps, strict=True)
        ]
        self.kept_along = [axis for axis in range(2) if any(content.keeps[axis])]
        self.meets_edge = True
        self.iteration: Expression = integer(0)

    def all_statements(self) -> list[Statement]:
        """All statements of an invocation, the variables' declarations first."""
        for axis in range(2):
            self._place(axis)
        for surface in self.content.owned:
            self._load(surface)
        for lookup, variable in self.kept.items():
            for fragment in self.fragments(lookup.axes):
                texel = self._elsewhere(lookup, (0, 0), fragment)
                self._let(variable, lookup.axes, fragment, texel)
        for surface in self.near:
            self._share(surface)
        self.iteration = read(ITERATION)
        self._iterations()
        for number, known in enumerate(self.content.surfaces):
            if known.written:
                self._store(number)
        return [*self.declarations(), *self.statements]

    # Places

    def _place(self, axis: int) -> None:
        """Assign the positions of columns or rows, and the fragments computed there."""
        along, corner, extent = _ALONG[axis], read(CORNER, axis), read(EXTENT, axis)
        low, high = self.temporal.keeps[axis]
        for fragment in self.fragments(along):
            place = corner + self.in_tile(axis, fragment[1 - axis])
            here = self._let(_PLACE[axis], along, fragment, place)
            if self.temporal.wraps[axis]:
                # The tile begins at most its own length before the rectangle.
                around = here + extent * self.shape.tile[axis]
                drawn = operation(Operator.REMAINDER, around, extent)
            else:
                drawn = clamped(here, extent)
            at = self._let(_DRAWN[axis], along, fragment, drawn)
            if axis in self.kept_along:
                sides = [*([here >= 0] if low else []), *([here <= extent + -1] if high else [])]
                self._let(_WITHIN[axis], along, fragment, all_of(sides))
            if self.clamps[axis]:
                self._let(_NEAR[axis], along, fragment, at + corner * -1)

    def _let(self, variable: Variable, axes: Axes, fragment: Fragment, value: Expression) -> Read:
        self.axes[variable] = axes
        self.assign(variable, fragment, value)
        return self._read(variable, fragment)

    def _read(self, variable: Variable, fragment: Fragment) -> Read:
        return read(self.cell(variable, fragment))

    # Texels of textures

    def _loaded(self, surface: int, fragment: Fragment) -> Element:
        """The texel that a fragment begins with."""
        at: list[Expression] = []
        for axis in range(2):
            place: Expression = self._read(_DRAWN[axis], fragment)
            if surface in self.near and axis in self.kept_along:
                # Texels around the rectangle, as far as the texture goes.
                origin, size = (read(of(surface), axis) for of in (origin_variable, size_variable))
                place = clamped(self._read(_PLACE[axis], fragment) + origin, size) + origin * -1
            at.append(place)
        return own_element(surface, texture_array(self.content, surface), at)

    def _load(self, surface: int) -> None:
        """Load the fragments' own texels.

        If each iteration writes a surface before it reads it, only texels around the rectangle are
        loaded.
        """
        variable = own_variable(self.content, surface)
        zero = compose([0.0] * variable.type.width)
        begins = surface in self.temporal.live or not self.content.surfaces[surface].written
        around = surface in self.near and self.kept_along
        for fragment in self.fragments(EVERYWHERE):
            texel = self._loaded(surface, fragment)
            held = self._let(variable, EVERYWHERE, fragment, texel if begins else zero)
            if around and not begins:
                within = all_of([self._read(_WITHIN[axis], fragment) for axis in self.kept_along])
                outside = operation(Operator.NOT, within)
                self.add(If(outside, (Assign(held.variable, held.components, texel),)))

    def _store(self, surface: int) -> None:
        """Store the fragments' texels, except near the tile's edges."""
        live = surface in self.temporal.live
        array = (
            stored_array(self.temporal, surface) if live else texture_array(self.content, surface)
        )
        margins = self.shape.margins(self.temporal.reach)
        stores: list[Statement] = []
        for fragment in self.fragments(EVERYWHERE):
            at = [self._read(_PLACE[axis], fragment) for axis in range(2)]
            conditions: list[Expression] = []
            for axis, (low, high) in enumerate(margins):
                here = self.in_tile(axis, fragment[1 - axis])
                conditions += here >= low, here < self.shape.tile[axis] - high
                conditions.append(at[axis] < read(EXTENT, axis))
            store = Store(own_element(surface, array, at), self.own(surface, fragment))
            stores.append(If(all_of(conditions), (store,)))
        self.add(*stores if live else [If(read(COMPLETE), tuple(stores))])

    # Texels in shared memory

    def _share(self, surface: int) -> None:
        """Store the fragments' texels in shared memory, for their neighbours."""
        for fragment in self.fragments(EVERYWHERE):
            at = [self.in_tile(axis, fragment[1 - axis]) for axis in range(2)]
            self.add(Store(self._shared(surface, at), self.own(surface, fragment)))

    def _shared(
        self, surface: int, at: Sequence[Expression], right: int = 0, up: int = 0
    ) -> Element:
        """An element of a shared array: `right` and `up` from the column and the row in `at`."""
        width = self.shape.tile[0]
        moved = up * width + right + shared_padding(self.shape, self.content)
        array = shared_array(self.temporal, self.shape, surface)
        return Element((at[1] * width + at[0] + moved,), array)

    def _neighbour(self, lookup: NeighbourLookup[int], fragment: Fragment) -> Expression:
        """A neighbour's texel, from the invocation's own registers or from shared memory."""
        row, column = fragment
        clamps = [axis_clamps and self.meets_edge for axis_clamps in self.clamps]
        beside = row + lookup.up
        if not lookup.right and not clamps[1] and 0 <= beside < self.rows:
            return self.own(lookup.texture, (beside, column))
        at = [
            self._read(_NEAR[axis], fragment)
            if clamps[axis]
            else self.in_tile(axis, fragment[1 - axis])
            for axis in range(2)
        ]
        return self._shared(lookup.texture, at, lookup.right, lookup.up)

    # Fragments

    def at_fragment(self, part: Expression, fragment: Fragment) -> Expression:
        """See RegisterTile."""
        match part:
            case Texel(lookup=NeighbourLookup() as near):
                return components(self._neighbour(near, fragment), part.components)
            case Texel(lookup=AffineLookup() as lookup) if lookup in self.kept:
                return components(self._read(self.kept[lookup], fragment), part.components)
            case Texel(lookup=AffineLookup() as lookup):
                return components(self._elsewhere(lookup, part.advance, fragment), part.components)
        return placed(self.content, part, lambda axis: self._read(_DRAWN[axis], fragment))

    def _elsewhere(
        self, lookup: AffineLookup[int], advance: Advance, fragment: Fragment
    ) -> Expression:
        """A texel of a texture that no pass writes."""
        at = (self._read(_DRAWN[0], fragment), self._read(_DRAWN[1], fragment))
        return texel_element(self.content, lookup, advance, at, (self.iteration, integer(0)))

    # Iterations

    def _iterations(self) -> None:
        """Add the loop of all iterations.

        If textures are clamped, a tile inside the rectangle has a loop of its own: it knows where
        all neighbours' texels are, and many are in registers.
        """
        whole = self._loop_of_iterations()
        if not any(self.clamps):
            self.add(whole)
            return
        self.meets_edge = False
        inner = self._loop_of_iterations()
        inside: list[Expression] = []
        for axis in range(2):
            if not self.temporal.wraps[axis]:
                end = read(CORNER, axis) + self.shape.tile[axis]
                inside += read(CORNER, axis) >= 0, end <= read(EXTENT, axis)
        self.add(If(all_of(inside), (inner,), (whole,)))

    def _loop_of_iterations(self) -> For:
        return For(ITERATION, read(FIRST), read(LAST), self.inside(self._iteration))

    def _iteration(self) -> None:
        for position, statement in enumerate(self.body):
            if position in self.waits_before:
                self.add(Barrier())
            self.execute(self._kept_around(statement))
            surface = _written_surface(statement)
            if surface in self.near:
                if position in self.waits_behind:
                    self.add(Barrier())
                self._share(surface)

    def _kept_around(self, statement: Statement) -> Statement:
        """A write that leaves texels around the rectangle unchanged."""
        is_near = _written_surface(statement) in self.near
        if not is_near or not self.kept_along or not self.meets_edge:
            return statement
        assert isinstance(statement, Assign)
        held = Read(statement.variable, statement.components, EVERYWHERE)
        sides = [Read(_WITHIN[axis], (0,), _ALONG[axis]) for axis in self.kept_along]
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

    most: the numbers that may be kept for a fragment.
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
    """The numbers of the statements before which, and after which, invocations must wait.

    After a statement has written a surface's texels, the invocation stores them in shared memory:
    no other may then still read the old ones. Before a statement reads texels there, all must have
    been stored. This holds from one iteration to the next, too.
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
