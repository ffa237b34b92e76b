"""Regions of a graph: straight segments, and the branches, loops and breaks between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gpgpu_legacy.isa.program import Span


@dataclass(eq=False)
class Home:
    """Up to four numbers that lie in one temporary from one segment to another."""


Key = tuple[Home, int] | int
"""What has a place in a temporary: a number of a home, or a node that other segments read."""


@dataclass(eq=False)
class StraightSegment:
    """Straight code. stores: what it leaves in homes, as literals. test: the literal, and its
    relation to 0, that decides what follows. tested: where that literal is stored, too.
    """

    stores: dict[Key, int] = field(default_factory=dict)
    kills: list[tuple[int, ...]] = field(default_factory=list)
    test: tuple[int, str] | None = None
    tested: Key | None = None


@dataclass(eq=False)
class IfBranch:
    """An IF, under the test of the segment before."""

    then: Region
    otherwise: Region
    span: Span


@dataclass(eq=False)
class RepLoop:
    """A REP of some trips."""

    trips: int
    body: Region
    span: Span


@dataclass(eq=False)
class LoopBreak:
    """A BRK, under the test of the segment before, or always."""

    span: Span


Region = list["StraightSegment | IfBranch | RepLoop | LoopBreak"]
"""Segments, with one of the others between each two."""


def segments(region: Region) -> Iterator[StraightSegment]:
    """All segments, in the order of the text."""
    for part in region:
        match part:
            case StraightSegment():
                yield part
            case IfBranch():
                yield from segments(part.then)
                yield from segments(part.otherwise)
            case RepLoop():
                yield from segments(part.body)


def loops(region: Region) -> Iterator[RepLoop]:
    """All loops, the inner ones before those around them."""
    for part in region:
        if isinstance(part, IfBranch):
            yield from loops(part.then)
            yield from loops(part.otherwise)
        elif isinstance(part, RepLoop):
            yield from loops(part.body)
            yield part
