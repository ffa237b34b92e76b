"""Texels that several fragments of a register tile look up, each loaded once.

In a stencil, the east neighbour of a fragment is the west neighbour of the fragment two columns on.
Where a lookup's column and row each depend on one axis, which fragments want the same texel is
known from their places in the register tile alone.

Past the rectangle a fragment stands in for its last column or row, so what neighbours look up there
is not what their places say. Of the fragments that share a texel the lowest and leftmost one loads
it: if that one is past the rectangle, all are, and nothing that they compute is stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gpgpu_legacy.lower.invocation import read
from gpgpu_legacy.lower.ir import (
    Declare,
    Expression,
    Read,
    Statement,
    Texel,
    Variable,
    all_expressions,
)
from gpgpu_legacy.lower.ir_types import EVERYWHERE
from gpgpu_legacy.lower.lookups import AffineLookup
from gpgpu_legacy.lower.tile_variables import Fragment, RegisterTile
from gpgpu_legacy.lower.workgroups import GroupShape

Advance = tuple[int, int]
"""How many texels right and up a lookup moves from trip to trip."""

Load = Callable[[AffineLookup[int], Advance, Fragment], Expression]
"""What a fragment finds by a lookup."""


@dataclass(frozen=True, slots=True)
class _Key:
    """A texel of a register tile.

    lookup: one of those that find it, with constants of 0. block: that of the fragments, which lie
    side by side. place: its column and row, less what the place of the block's first fragment adds.
    """

    lookup: AffineLookup[int]
    advance: Advance
    block: tuple[int, int]
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Shared:
    """The fragment that loads a texel for all, and the lookup by which that one finds it."""

    fragment: Fragment
    lookup: AffineLookup[int]


class TexelLoads:
    """The loads of a register tile's texels: each once, in a variable, where fragments share it."""

    def __init__(self, shape: GroupShape, tile: RegisterTile, load: Load) -> None:
        """load: adds nothing to the tile's statements."""
        self._tile, self._load = tile, load
        self._columns, self._rows = shape.side_by_side
        self._known: dict[int, dict[_Key, _Shared]] = {}
        self._shared: dict[_Key, _Shared] = {}
        self._loaded: dict[_Key, Read] = {}
        self._count = 0

    def begin(self, statements: Sequence[Statement]) -> None:
        """Execute statements next, in a block and a trip of their own.

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
            value = self._load(shared.lookup, advance, shared.fragment)
            self._count += 1
            variable = Variable("texel", value.type, number=self._count)
            self._tile.add(Declare(variable, value))
            self._loaded[key] = read(variable)
        return self._loaded[key]

    def _shared_by(self, statements: Iterable[Statement]) -> dict[_Key, _Shared]:
        """The texels that are wanted more than once."""
        fragments: dict[_Key, set[Fragment]] = defaultdict(set)
        leaving, wanted = set[_Key](), Counter[_Key]()
        for texel in all_expressions(statements):
            if not isinstance(texel, Texel) or not _is_shareable(texel):
                continue
            for fragment in self._tile.fragments(EVERYWHERE):
                key = self._key(texel.lookup, texel.advance, fragment)
                fragments[key].add(fragment)
                wanted[key] += 1
                if not texel.lookup.inside:
                    leaving.add(key)
        shared = {}
        for key, sharing in fragments.items():
            if wanted[key] > 1:
                first = min(row for row, _ in sharing), min(column for _, column in sharing)
                lookup = replace(self._lookup_from(key, first), inside=key not in leaving)
                shared[key] = _Shared(first, lookup)
        return shared

    def _key(self, lookup: AffineLookup[int], advance: Advance, fragment: Fragment) -> _Key:
        """The texel that a fragment finds."""
        s, t = lookup.s, lookup.t
        alike = replace(lookup, s=replace(s, constant=0), t=replace(t, constant=0), inside=True)
        row_block, row = divmod(fragment[0], self._rows)
        column_block, column = divmod(fragment[1], self._columns)
        across, up = (form.constant + form.x * column + form.y * row for form in (s, t))
        return _Key(alike, advance, (row_block, column_block), (across, up))

    def _lookup_from(self, key: _Key, fragment: Fragment) -> AffineLookup[int]:
        """The lookup by which a fragment finds a texel."""
        row, column = fragment[0] % self._rows, fragment[1] % self._columns
        s, t = (
            replace(form, constant=place - form.x * column - form.y * row)
            for form, place in zip((key.lookup.s, key.lookup.t), key.place, strict=True)
        )
        return replace(key.lookup, s=s, t=t)


def _is_shareable(texel: Texel[AffineLookup[int]]) -> bool:
    """Whether it varies along both axes, and its column and its row along one each."""
    forms = (texel.lookup.s, texel.lookup.t)
    return texel.axes == EVERYWHERE and not any(form.x and form.y for form in forms)
