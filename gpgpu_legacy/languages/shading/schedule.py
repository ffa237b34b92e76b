"""The order of instructions, and the temporaries that their results lie in.

Two orders are tried: depth first, which keeps few temporaries alive, and by texture indirections
(GL_ARB_fragment_program, issue 24), which looks up all that can be looked up before it computes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import inf
from operator import or_

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.opcodes import OPCODES, CostClass
from gpgpu_legacy.languages.shading.packing import Class, Pack, Packer, is_lookup

NATIVE_INDIRECTIONS = 4
"""Texture indirections that the Radeon 9700 allows; an order with more is avoided."""


@frozen
class Schedule:
    """Packs in order. place: the temporary and the lane of each node."""

    packs: Sequence[Pack]
    place: Mapping[int, tuple[int, int]]
    temporaries: int
    indirections: int


def scheduled(packer: Packer) -> Schedule:
    """The better of both orders."""
    first = _depth_first(packer)
    plain = _allocated(packer, first, phased=False)
    if plain.indirections <= NATIVE_INDIRECTIONS:
        return plain
    order = sorted(first, key=lambda pack: _phase(packer, pack))
    phased = _allocated(packer, order, phased=True)
    return phased if phased.indirections < plain.indirections else plain


def _depth_first(packer: Packer) -> list[Pack]:
    """Operands before what reads them, those that need the most registers first."""
    packs = sorted(packer.packs, key=lambda pack: (pack.nodes[0] in packer.lanes, pack.level))
    sources = {pack: packer.sources(_read(packer, pack)) for pack in packs}
    readers: dict[tuple[object, int], list[Pack]] = defaultdict(list)
    for pack in packs:
        for place in {place for node in pack.nodes for place in packer.reads(node)}:
            readers[place].append(pack)
    for pack in packs if readers else ():  # what is overwritten is read before
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
    """Lookups as early as their coordinates allow, then what the next ones wait for."""
    looks_up = is_lookup(packer.operations[pack.nodes[0]])
    return (pack.depth, not looks_up) if looks_up or pack.feeds else (inf, False)


def _allocated(packer: Packer, packs: Sequence[Pack], *, phased: bool) -> Schedule:
    """Temporaries for the classes, by component: a lane is free after its last read."""
    place: dict[int, tuple[int, int]] = {}
    busy = [0, 0, 0, 0]  # the temporaries in use, of each lane, as bits
    last = {x >> 1: number for number, pack in enumerate(packs) for x in _read(packer, pack)}
    indirections, outputs, alu = 1, 0, 0  # what the last one has touched
    for number, pack in enumerate(packs):
        operation = packer.operations[pack.nodes[0]]
        is_alu = OPCODES[operation.mnemonic].cost is CostClass.ARITHMETIC
        read = written = 0
        for node in place.keys() & {x >> 1 for x in _read(packer, pack)}:
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
    return Schedule(packs, place, temporaries, indirections)


def _read(packer: Packer, pack: Pack) -> list[int]:
    return [x for node in pack.nodes for x in packer.operations[node].operands]


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
