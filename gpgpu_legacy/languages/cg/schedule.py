"""The order of instructions, and the temporaries that their results lie in.

Two orders are tried: depth first, which keeps few temporaries alive, and by texture indirections
(GL_ARB_fragment_program, issue 24), which looks up all that can be looked up before it computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.opcodes import OPCODES, CostClass
from gpgpu_legacy.languages.cg.packing import Class, Pack, Packer, is_lookup

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
    packs = sorted(packer.packs, key=lambda pack: pack.level)
    sources = {pack: packer.sources(_read(packer, pack)) for pack in packs}
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
    busy: list[set[int]] = []
    last = {x >> 1: number for number, pack in enumerate(packs) for x in _read(packer, pack)}
    indirections, outputs, alu = 1, set[int](), set[int]()  # what the last one has touched
    for number, pack in enumerate(packs):
        operation = packer.operations[pack.nodes[0]]
        is_alu = OPCODES[operation.mnemonic].cost is CostClass.ARITHMETIC
        nodes = place.keys() & {x >> 1 for x in _read(packer, pack)}
        read = {place[node][0] for node in nodes}
        for temporary, lane in (place[node] for node in nodes if last[node] == number):
            busy[temporary].discard(lane)
        written = None
        if pack.nodes[0] not in packer.lanes and operation.mnemonic != "KIL":
            node = packer.parts.get(pack.nodes[0], pack.nodes)[0]
            if node not in place:
                avoided = set[int]() if is_alu else alu
                if phased and not is_alu:  # a coordinate beside a result waits for it
                    avoided = {t for t, lanes in enumerate(busy) if lanes or t in alu}
                temporary, lanes = _room(busy, packer.classes[node], avoided)
                place.update((member, (temporary, lane)) for member, lane in lanes.items())
                busy[temporary].update(lanes.values())
            written = place[node][0]
        if not is_alu and (read & outputs or written in alu):
            indirections, outputs, alu = indirections + 1, set(), set()
        touched = set() if written is None else {written}
        outputs |= touched
        if is_alu:
            alu |= read | touched
    return Schedule(packs, place, len(busy), indirections)


def _read(packer: Packer, pack: Pack) -> list[int]:
    return [x for node in pack.nodes for x in packer.operations[node].operands]


def _room(busy: list[set[int]], class_: Class, avoided: set[int]) -> tuple[int, dict[int, int]]:
    """The first temporary with room for a class, and its lanes; a new one if there is none."""
    fixed = {member: lane for lane, member in class_.fixed.items()}
    loose = [member for member in class_.members if member not in fixed]
    for temporary, taken in enumerate([*busy, set[int]()]):
        free = [lane for lane in range(4) if lane not in taken and lane not in class_.fixed]
        if len(loose) > len(free) or taken & set(class_.fixed) or temporary in avoided:
            continue
        busy += [set()] if temporary == len(busy) else []
        return temporary, fixed | dict(zip(loose, free, strict=False))
    raise AssertionError("a new temporary has room")
