"""The order of instructions, and the temporaries of their results.

Two orders are tried: depth first, which keeps few temporaries alive, and by texture indirections
(GL_ARB_fragment_program, issue 24), which looks up all that can be looked up before it computes.

Values that pass between segments have registers, too. A loop's variables have homes, which its
trips write. The sides of a branch write the variables that differ after it. A node that another
segment reads stays where it was computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import inf
from operator import or_

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.opcodes import OPCODES, CostClass
from gpgpu_legacy.isa.program import Temporary
from gpgpu_legacy.languages.shading.graph import (
    FREE,
    Graph,
    Home,
    Key,
    StraightSegment,
)
from gpgpu_legacy.languages.shading.packing import Class, Lanes, Pack, Packer, is_lookup

NATIVE_INDIRECTIONS = 4
"""Texture indirections that the Radeon 9700 allows; an order with more is avoided."""


@frozen
class PackSchedule:
    """Packs in order. place: the temporary and the lane of each node."""

    packs: Sequence[Pack]
    place: Mapping[int, tuple[int, int]]
    temporaries: int
    indirections: int


def scheduled(packer: Packer) -> PackSchedule:
    """The better of the two orders: depth first, unless it has too many indirections."""
    first = _depth_first(packer)
    plain = _allocated(packer, first, phased=False)
    if plain.indirections <= NATIVE_INDIRECTIONS:
        return plain
    order = sorted(first, key=lambda pack: _phase(packer, pack))
    phased = _allocated(packer, order, phased=True)
    return phased if phased.indirections < plain.indirections else plain


def _depth_first(packer: Packer) -> list[Pack]:
    """Packs after their operands; operands that need the most registers come first."""
    packs = sorted(packer.packs, key=lambda pack: (pack.nodes[0] in packer.lanes, pack.level))
    sources = {pack: packer.sources(packer.read(pack)) for pack in packs}
    readers: dict[tuple[object, int], list[Pack]] = defaultdict(list)
    for pack in packs:
        for place in {place for node in pack.nodes for place in packer.reads(node)}:
            readers[place].append(pack)
    for pack in packs if readers else ():  # a register is read before it is overwritten
        for register, lanes in (packer.lanes.get(node, (None, ())) for node in pack.nodes):
            before = (reader for lane in lanes for reader in readers[register, lane])
            sources[pack] += [r for r in before if r is not pack and r not in sources[pack]]
    need: dict[Pack, int] = {}
    for pack in packs:
        sources[pack].sort(key=lambda source: -need[source])
        need[pack] = max((need[s] + k for k, s in enumerate(sources[pack])), default=1)
    done: dict[Pack, None] = {}
    kills = [packer.pack_of[node] for node in packer.kills]
    results = dict.fromkeys(packer.pack_of[node] for node in packer.lanes)
    for root in (*kills, *sorted(results, key=lambda pack: -need[pack])):
        stack = [(root, False)]
        while stack:
            pack, ready = stack.pop()
            if pack in done:
                continue
            if ready:
                done[pack] = None
            else:
                stack.append((pack, True))
                stack += [(source, False) for source in reversed(sources[pack])]
    return list(done)


def _phase(packer: Packer, pack: Pack) -> tuple[float, bool]:
    """A sort key: lookups as early as their coordinates allow, then what the next ones need."""
    looks_up = is_lookup(packer.operations[pack.nodes[0]])
    return (pack.depth, not looks_up) if looks_up or pack.feeds else (inf, False)


def _allocated(packer: Packer, packs: Sequence[Pack], *, phased: bool) -> PackSchedule:
    """Temporaries for the classes, by component: a lane is free after its last read."""
    place: dict[int, tuple[int, int]] = {}
    busy = [0, 0, 0, 0]  # the temporaries in use in each lane, as bits
    last = {x >> 1: number for number, pack in enumerate(packs) for x in packer.read(pack)}
    indirections, outputs, alu = 1, 0, 0  # as bits: temporaries that the last one touched
    for number, pack in enumerate(packs):
        operation = packer.operations[pack.nodes[0]]
        is_alu = OPCODES[operation.mnemonic].cost is CostClass.ARITHMETIC
        read = written = 0
        for node in place.keys() & {x >> 1 for x in packer.read(pack)}:
            temporary, lane = place[node]
            read |= 1 << temporary
            if last[node] == number:
                busy[lane] &= ~(1 << temporary)
        if pack.nodes[0] not in packer.lanes and operation.mnemonic != "KIL":
            node = packer.parts.get(pack.nodes[0], pack.nodes)[0]
            if node not in place:
                avoided = 0 if is_alu else alu
                if phased and not is_alu:  # a coordinate beside a result waits for it
                    avoided = reduce(or_, busy, alu)
                temporary, lanes = _room(busy, packer.classes[node], avoided)
                for member, lane in lanes.items():
                    place[member] = temporary, lane
                    busy[lane] |= 1 << temporary
            written = 1 << place[node][0]
        if not is_alu and (read & outputs or written & alu):
            indirections, outputs, alu = indirections + 1, 0, 0
        outputs |= written
        if is_alu:
            alu |= read | written
    temporaries = 1 + max((temporary for temporary, _ in place.values()), default=-1)
    return PackSchedule(packs, place, temporaries, indirections)


def _room(busy: Sequence[int], class_: Class, avoided: int) -> tuple[int, dict[int, int]]:
    """The first temporary with room for a class, and its lanes."""
    fixed = {member: lane for lane, member in class_.fixed.items()}
    loose = [member for member in class_.members if member not in fixed]
    others = [lane for lane in range(4) if lane not in class_.fixed]
    taken = -1
    for lanes in combinations(others, len(loose)):
        taken &= reduce(or_, (busy[lane] for lane in (*class_.fixed, *lanes)))
    room = ~(taken | avoided)
    temporary = (room & -room).bit_length() - 1
    free = [lane for lane in others if not busy[lane] >> temporary & 1]
    return temporary, fixed | dict(zip(loose, free, strict=False))


Component = tuple[Temporary, int]
"""A register and a component."""


class Homes:
    """The registers of values that pass between the segments of a graph.

    places: the register and component of each key. count: the temporaries that they take.
    """

    def __init__(self, graph: Graph, ends: Mapping[StraightSegment, Sequence[int]]) -> None:
        """ends: the literals that each segment computes for results, kills and tests."""
        self.graph = graph
        self.segments = graph.segments
        self._number = {segment: n for n, segment in enumerate(self.segments)}
        self._used: dict[Key, set[int]] = defaultdict(set)
        """The segments that write or read each key."""
        self.places: dict[Key, Component] = {}
        self.count = 0
        if len(self.segments) > 1:
            self._trace(ends)
            self._allocate()

    def stores(self, segment: StraightSegment) -> Lanes:
        """The literals that a segment leaves in homes."""
        stores: Lanes = defaultdict(dict)
        own = [(key, 2 * key) for key in self.places if isinstance(key, int)]
        kept = [(key, x) for key, x in own if self.graph.owners[x >> 1] is segment]
        for key, literal in [*segment.stores.items(), *kept]:
            if key in self.places:
                register, lane = self.places[key]
                stores[register][lane] = literal
        return stores

    def leaf(self, node: int, segment: StraightSegment) -> Component | None:
        """Where a segment reads a node; None if the segment computes it, or it has no home."""
        if self.graph.owners[node] is segment and node in self.places:
            return None
        return self.places.get(self.graph.home_of(node) or node)

    def _trace(self, ends: Mapping[StraightSegment, Sequence[int]]) -> None:
        """Find the keys that the ends need, and the segments that use them."""
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
        """Groups of keys for one register: the components of a home, or nodes made in a row."""
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
        """Give each key a place that is free from the first segment that uses it to the last."""
        number, begun, trips, ranges = 0, list[int](), list[tuple[int, int]](), []
        for part in self.graph.code:
            if isinstance(part, StraightSegment):
                number += 1
            elif part.mnemonic == "REP":
                begun.append(number)
            elif part.mnemonic == "ENDREP":
                trips.append((begun.pop(), number - 1))
        for keys in self._groups():
            used = reduce(or_, (self._used[key] for key in keys))
            first, last = min(used), max(used)
            for begin, end in trips:  # inner loops come first
                if first <= end and last >= begin and not begin <= first <= last <= end:
                    first, last = min(first, begin), max(last, end)
            ranges.append((first, last, keys))
        until: dict[Temporary, list[int]] = {}  # the last segment in which each component is used
        for first, last, keys in sorted(ranges, key=lambda r: r[:2]):
            for register in (*until, Temporary(f"R{len(until)}")):
                ends = until.setdefault(register, [-1] * 4)
                free = [lane for lane in range(4) if ends[lane] < first]
                if len(free) >= len(keys):
                    break
            for key, lane in zip(keys, free, strict=False):
                ends[lane] = last
                self.places[key] = register, lane
        self.count = len(until)
