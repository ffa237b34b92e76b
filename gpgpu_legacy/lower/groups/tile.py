"""The register tile of an invocation: its fragments' variables, and the texels that they share.

In a stencil, the east neighbour of a fragment is the west neighbour of the fragment two columns on.
If a lookup's column and row each depend on one axis, the positions in the register tile decide
which fragments read the same texel. It is loaded once for all of them.

Past the rectangle a fragment repeats the last column or row, so its neighbours' texels do not
follow from their positions there. Of the fragments that share a texel the lowest and leftmost one
loads it: if that one is past the rectangle, all are, and none of their results is stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import Expression, Read, Role, Texel, Variable, read
from gpgpu_legacy.isa.statements import (
    Assign,
    Collector,
    Declare,
    For,
    Statement,
    all_expressions,
    rebuilt,
)
from gpgpu_legacy.isa.types import EVERYWHERE, NOWHERE, Axes, Components
from gpgpu_legacy.lower.fused.body import own_variable
from gpgpu_legacy.lower.fused.content import Advance, Content
from gpgpu_legacy.lower.groups.invocation import THREAD
from gpgpu_legacy.lower.lookups import AffineLookup

Fragment = tuple[int, int]
"""A row and a column of the register tile."""


@lru_cache(maxsize=4096)
def cell_variable(variable: Variable, row: int | None, column: int | None) -> Variable:
    """A variable of one row, of one column, or of one fragment of a register tile."""
    return replace(variable, row=row, column=column)


class RegisterTile(Collector, ABC):
    """The variables of a register tile's fragments, and the statements that compute them."""

    def __init__(
        self,
        content: Content,
        size: tuple[int, int],
        threads: tuple[int, int],
        side_by_side: tuple[int, int],
    ) -> None:
        """size: columns and rows. threads, side_by_side: see GroupShape."""
        self.content, (self.columns, self.rows) = content, size
        self.threads, self.side_by_side = threads, side_by_side
        self.axes: dict[Variable, Axes] = {}
        self.statements = []
        self.assigned: dict[Variable, None] = {}
        self.names: dict[Variable, Variable] = {}
        self.parts = 0

    @abstractmethod
    def at_fragment(self, part: Expression, fragment: Fragment) -> Expression:
        """A part of an expression other than a variable, at a fragment."""

    def add(self, *statements: Statement) -> None:
        """Add statements."""
        self.statements += statements

    def declarations(self) -> list[Statement]:
        """The declarations of all assigned variables."""
        return [Declare(variable) for variable in self.assigned]

    def fragments(self, axes: Axes) -> Iterator[Fragment]:
        """A fragment for each row and column along which a value with these axes varies."""
        rows, columns = self.rows if axes.y else 1, self.columns if axes.x else 1
        return product(range(rows), range(columns))

    def in_tile(self, axis: int, number: int) -> Expression:
        """The position of a column or a row in the group's tile."""
        adjacent = self.side_by_side[axis]
        group, rest = divmod(number, adjacent)
        between = group * self.threads[axis] * adjacent + rest
        place: Expression = read(THREAD, axis) * adjacent + between
        return place

    def cell(self, variable: Variable, fragment: Fragment) -> Variable:
        """The storage of a variable for a fragment."""
        axes = self.axes[variable]
        row, column = fragment
        return cell_variable(variable, row if axes.y else None, column if axes.x else None)

    def own(self, surface: int, fragment: Fragment) -> Read:
        """A fragment's own texel in a surface."""
        return read(self.cell(own_variable(self.content, surface), fragment))

    def assign(
        self,
        variable: Variable,
        fragment: Fragment,
        value: Expression,
        components: Components | None = None,
    ) -> None:
        """Add an assignment to a fragment's variable. components: by default all."""
        cell = read(self.cell(variable, fragment))
        self.assigned[cell.variable] = None
        self.add(Assign(cell.variable, components or cell.components, value))

    def execute(self, statement: Statement) -> None:
        """Add a one-fragment statement for every fragment at which it differs."""
        if isinstance(statement, Declare):
            assert statement.value is not None
            self._declare(statement.variable, statement.value)
        elif isinstance(statement, Assign):
            self._assign(statement)

    def _assign(self, statement: Assign) -> None:
        variable, axes = statement.variable, self._axes_after(statement, self.axes)
        values = [(f, self.at(statement.value, f)) for f in self.fragments(axes)]
        if len(statement.components) < variable.type.width:
            self.widen(variable, axes)
        self.axes[variable] = axes
        for fragment, value in values:
            self.assign(variable, fragment, value, statement.components)

    def _declare(self, variable: Variable, value: Expression) -> None:
        """Declare a variable for each fragment at which it differs, anew in each unrolled trip."""
        self.parts += 1
        name = replace(variable, number=self.parts)
        values = [(f, self.at(value, f)) for f in self.fragments(value.axes)]
        self.names[variable] = name
        self.axes[name] = value.axes
        for fragment, at in values:
            self.add(Declare(self.cell(name, fragment), at))

    def at(self, value: Expression, fragment: Fragment) -> Expression:
        """An expression at a fragment."""

        def change(part: Expression) -> Expression:
            if not isinstance(part, Read):
                return self.at_fragment(part, fragment)
            variable = self.names.get(part.variable, part.variable)
            if variable not in self.axes:
                return part
            return Read(self.cell(variable, fragment), part.components)

        return rebuilt(value, change)

    @staticmethod
    def _axes_after(statement: Assign, axes: dict[Variable, Axes]) -> Axes:
        """The axes along which a whole variable varies after the statement."""
        if statement.variable.role is Role.OWN:
            return EVERYWHERE
        if len(statement.components) == statement.variable.type.width:
            return statement.value.axes
        return statement.value.axes | axes.get(statement.variable, NOWHERE)

    def widen(self, variable: Variable, axes: Axes) -> None:
        """Give a variable more axes; it keeps its value in every fragment."""
        old = self.axes.get(variable, axes)
        if old == axes:
            return
        before = {f: read(self.cell(variable, f)) for f in self.fragments(axes)}
        self.axes[variable] = axes
        for fragment, value in before.items():
            self.assign(variable, fragment, value)

    def execute_trip(self, loop: For, head: dict[Variable, Axes]) -> None:
        """Add the statements of a trip of a loop. head: from `widen_for`."""
        for statement in loop.body:
            self.execute(statement)
        for variable, axes in head.items():
            self.widen(variable, axes)

    def widen_for(self, loop: For) -> dict[Variable, Axes]:
        """Widen the variables that each trip passes to the next; return their axes."""
        head = {variable: self.axes[variable] for variable, _, _ in loop.carried}
        while True:
            after = self.axes | head
            for statement in loop.body:
                if isinstance(statement, Assign):
                    after[statement.variable] = self._axes_after(statement, after)
            wider = {variable: axes | after[variable] for variable, axes in head.items()}
            if wider == head:
                break
            head = wider
        for variable, axes in head.items():
            self.widen(variable, axes)
        return head


Load = Callable[[AffineLookup[int], Advance, Fragment], Expression]
"""The texel that a fragment's lookup reads."""


@frozen
class TileTexel:
    """A texel of a register tile.

    lookup: one that reads it, with constants of 0. block: the row and column of the block of
    neighbouring fragments. place: its column and row, relative to the block's first fragment.
    """

    lookup: AffineLookup[int]
    advance: Advance
    block: tuple[int, int]
    place: tuple[int, int]


_Shared = tuple[Fragment, AffineLookup[int]]
"""The fragment that loads a texel for all, and the lookup that it uses."""


class TexelLoads:
    """The loads of a register tile's texels: shared texels are loaded once, into variables."""

    def __init__(self, tile: RegisterTile, load: Load) -> None:
        """load: must add nothing to the tile's statements."""
        self._tile, self._load = tile, load
        self._columns, self._rows = tile.side_by_side
        self._known: dict[int, dict[TileTexel, _Shared]] = {}
        self._shared: dict[TileTexel, _Shared] = {}
        self._loaded: dict[TileTexel, Read] = {}
        self._count = 0

    def begin(self, statements: Sequence[Statement]) -> None:
        """Begin with these statements, in a block and a trip of their own.

        They must live as long as this object.
        """
        shared = self._known.get(id(statements))
        if shared is None:
            shared = self._known[id(statements)] = self._shared_by(statements)
        self._shared, self._loaded = shared, {}

    def texel(self, texel: Texel[AffineLookup[int]], fragment: Fragment) -> Expression:
        """All channels of a texel that a fragment looks up."""
        lookup, advance = texel.lookup, texel.advance
        key = self._key(lookup, advance, fragment)
        shared = self._shared.get(key)
        if shared is None:
            return self._load(lookup, advance, fragment)
        if key not in self._loaded:
            first, from_there = shared
            value = self._load(from_there, advance, first)
            self._count += 1
            variable = Variable("texel", value.type, number=self._count)
            self._tile.add(Declare(variable, value))
            self._loaded[key] = read(variable)
        return self._loaded[key]

    def _shared_by(self, statements: Iterable[Statement]) -> dict[TileTexel, _Shared]:
        """The texels that several fragments read."""
        fragments: dict[TileTexel, list[Fragment]] = defaultdict(list)
        leaving = set[TileTexel]()
        for texel in all_expressions(statements):
            if not isinstance(texel, Texel) or not _is_shareable(texel):
                continue
            for fragment in self._tile.fragments(EVERYWHERE):
                key = self._key(texel.lookup, texel.advance, fragment)
                fragments[key].append(fragment)
                if not texel.lookup.inside:
                    leaving.add(key)
        shared = {}
        for key, sharing in fragments.items():
            if len(sharing) > 1:
                first = min(row for row, _ in sharing), min(column for _, column in sharing)
                lookup = replace(self._lookup_from(key, first), inside=key not in leaving)
                shared[key] = first, lookup
        return shared

    def _key(self, lookup: AffineLookup[int], advance: Advance, fragment: Fragment) -> TileTexel:
        """The texel that a fragment reads."""
        s, t = lookup.s, lookup.t
        alike = replace(lookup, s=replace(s, constant=0), t=replace(t, constant=0), inside=True)
        row_block, row = divmod(fragment[0], self._rows)
        column_block, column = divmod(fragment[1], self._columns)
        across, up = (form.constant + form.x * column + form.y * row for form in (s, t))
        return TileTexel(alike, advance, (row_block, column_block), (across, up))

    def _lookup_from(self, key: TileTexel, fragment: Fragment) -> AffineLookup[int]:
        """The lookup by which a fragment reads a texel."""
        row, column = fragment[0] % self._rows, fragment[1] % self._columns
        s, t = (
            replace(form, constant=place - form.x * column - form.y * row)
            for form, place in zip((key.lookup.s, key.lookup.t), key.place, strict=True)
        )
        return replace(key.lookup, s=s, t=t)


def _is_shareable(texel: Texel[AffineLookup[int]]) -> bool:
    """Whether a texel varies along both axes, its column along one and its row along the other."""
    forms = (texel.lookup.s, texel.lookup.t)
    return texel.axes == EVERYWHERE and not any(form.x and form.y for form in forms)
