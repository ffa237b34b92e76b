"""The registers of what flows between the segments of a graph.

Variables of a loop have homes that each trip writes; a branch's sides write what differs after it;
and a node that another segment reads stays where it was computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from gpgpu_legacy.isa.program import DestinationRegister, Temporary
from gpgpu_legacy.languages.shading.graph import FREE, Graph
from gpgpu_legacy.languages.shading.regions import Home, Key, StraightSegment, loops, segments

Place = tuple[Temporary, int]
"""A register and a component."""


class Homes:
    """The registers of what flows between the segments of a graph.

    places: of each key. count: the temporaries that they take.
    """

    def __init__(self, graph: Graph, ends: Mapping[StraightSegment, Sequence[int]]) -> None:
        """ends: what the segments compute besides, as literals: results, kills and tests."""
        self.graph = graph
        self.segments = [*segments(graph.region)]
        self._number = {segment: n for n, segment in enumerate(self.segments)}
        self._used: dict[Key, set[int]] = defaultdict(set)
        """The segments that write or read each key."""
        self.places: dict[Key, Place] = {}
        self.count = 0
        if len(self.segments) > 1:
            self._trace(ends)
            self._allocate()

    def stores(self, segment: StraightSegment) -> dict[DestinationRegister, dict[int, int]]:
        """The literals that a segment leaves in homes, by register and component."""
        found: dict[DestinationRegister, dict[int, int]] = defaultdict(dict)
        own = [(key, 2 * key) for key in self.places if isinstance(key, int)]
        kept = [(key, x) for key, x in own if self.graph.owners[x >> 1] is segment]
        for key, literal in [*segment.stores.items(), *kept]:
            if key in self.places:
                register, lane = self.places[key]
                found[register][lane] = literal
        return found

    def leaf(self, node: int, segment: StraightSegment) -> Place | None:
        """Where a segment reads a node; None if it computes it, or if it has no home."""
        if self.graph.owners[node] is segment and node in self.places:
            return None
        return self.places.get(self.graph.home_of(node) or node)

    def _trace(self, ends: Mapping[StraightSegment, Sequence[int]]) -> None:
        """Find what is needed for the ends, and where."""
        graph, seen = self.graph, set[int]()
        stored: dict[Key, list[tuple[StraightSegment, int]]] = defaultdict(list)
        for segment in self.segments:
            for key, literal in segment.stores.items():
                stored[key].append((segment, literal))
        work = [(segment, literal) for segment, own in ends.items() for literal in own]
        while work:
            segment, literal = work.pop()
            node = graph.resolved(literal) >> 1
            home = graph.home_of(node)
            if home is not None:
                if home not in self._used:
                    work += stored[home]
                    self._used[home] |= {self._number[origin] for origin, _ in stored[home]}
                self._used[home].add(self._number[segment])
            if graph.operations[node] in FREE:
                continue
            owner = graph.owners[node]
            if owner is not segment:
                self._used[node] |= {self._number[owner], self._number[segment]}
            if node not in seen:
                seen.add(node)
                work += [(owner, operand) for operand in graph.operands[node]]

    def _groups(self) -> Iterator[list[Key]]:
        """Keys of one register: the components of a home, and nodes that were made in a row."""
        homes: dict[Home, list[Key]] = defaultdict(list)
        rows: list[list[Key]] = []
        before, operations = -2, self.graph.operations
        for node in sorted(k for k in self._used if isinstance(k, int)):
            alike = node == before + 1 and operations[node] == operations[before]
            if not alike or len(rows[-1]) == 4:
                rows.append([])
            rows[-1].append(node)
            before = node
        yield from rows
        for key in self._used:
            if not isinstance(key, int):
                homes[key[0]].append(key)
        yield from homes.values()

    def _allocate(self) -> None:
        """A place for each key, free from the first segment that uses it to the last."""
        trips = [[self._number[s] for s in segments(x.body)] for x in loops(self.graph.region)]
        ranges = []
        for keys in self._groups():
            used = reduce(or_, (self._used[key] for key in keys))
            first, last = min(used), max(used)
            for trip in trips:  # of which the inner ones come first
                begin, end = trip[0], trip[-1]
                if first <= end and last >= begin and not begin <= first <= last <= end:
                    first, last = min(first, begin), max(last, end)
            ranges.append((first, last, keys))
        until: list[list[int]] = []  # the last segment in which each component is used
        temporaries: list[Temporary] = []
        for first, last, keys in sorted(ranges, key=lambda r: r[:2]):
            register = 0
            while True:
                if register == len(until):
                    until.append([-1] * 4)
                    temporaries.append(Temporary(f"R{register}"))
                free = [lane for lane in range(4) if until[register][lane] < first]
                if len(free) >= len(keys):
                    break
                register += 1
            for key, lane in zip(keys, free, strict=False):
                until[register][lane] = last
                self.places[key] = temporaries[register], lane
        self.count = len(until)
