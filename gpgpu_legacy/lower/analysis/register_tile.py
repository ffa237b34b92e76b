"""How many rows and strips of fragments native code takes at a time, from what its programs hold.

Counted are, at every instruction, the temporaries that are alive and vary along both axes, along x
alone or along y alone. A tile of so many rows and strips needs xy·rows·strips + x·strips + y·rows
registers, and loads x·strips + y·rows values for rows·strips results: the fewer the better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpgpu_legacy.isa.ir import Attribute, Temporary
from gpgpu_legacy.lower.analysis import fusion
from gpgpu_legacy.lower.analysis.rerolling import Segment, Step
from gpgpu_legacy.lower.content import AffineLookup, DependentLookup, Lookup
from gpgpu_legacy.lower.ir import EVERYWHERE, NOWHERE, Axes, union

MOST_ROWS, MOST_VECTORS = 8, 4
SHORT_BODY = 16  # steps; in a longer body, registers that are carried through it can be spilt

Demand = tuple[int, int, int]
"""Values alive that vary along both axes, along x alone, along y alone."""


def lookup_axes(lookup: AffineLookup | fusion.AffineLookup) -> Axes:
    """The axes along which a placed lookup varies."""
    return Axes(bool(lookup.s.x or lookup.t.x), bool(lookup.s.y or lookup.t.y))


def register_tile(
    programs: Sequence[Sequence[Segment]],
    carried: int,
    registers: int,
    wanted: tuple[int, int] | None = None,
) -> tuple[int, int]:
    """The best shape for the programs of a Loop.

    carried: values that go from iteration to iteration. registers: vectors that the processor has.
    wanted: a shape that is taken for the best, as far as there can be such a one.
    """
    steps = [step for program in programs for segment in program for step in segment.steps]
    if any(isinstance(step.lookup, DependentLookup) for step in steps):
        return 1, 1
    if wanted is not None:
        return min(wanted[0], MOST_ROWS), min(wanted[1], MOST_VECTORS)
    demands = {demand for program in programs for demand in _demands(program)} or {(0, 0, 0)}
    carried_out = sum(len(s.steps) * s.trips for program in programs for s in program)
    if carried_out < SHORT_BODY:
        demands = {(xy + carried, x, y) for xy, x, y in demands}
    best, least = (1, 1), float("inf")
    for rows in range(1, MOST_ROWS + 1):
        for strips in range(1, MOST_VECTORS + 1):
            needed = max(xy * rows * strips + x * strips + y * rows for xy, x, y in demands)
            cost = _loads(demands, rows, strips) / (rows * strips)
            if needed <= registers and cost < least:
                best, least = (rows, strips), cost
    return best


def _loads(demands: set[Demand], rows: int, strips: int) -> float:
    """Loads for a tile; where nothing is shared, a larger one has no advantage."""
    x, y = max(d[1] for d in demands), max(d[2] for d in demands)
    return x * strips + y * rows if x or y else (rows * strips) ** 2


def _demands(program: Sequence[Segment]) -> set[Demand]:
    """What is alive at each step; a segment that turns counts as one turn after another."""
    steps = [step for segment in program for step in segment.steps * min(segment.trips, 2)]
    axes: list[dict[tuple[str, int], Axes]] = []
    now: dict[tuple[str, int], Axes] = {}
    for step in steps:
        register = step.instruction.dst.register if step.instruction.dst else None
        if isinstance(register, Temporary):
            found = _axes(step, now)
            now = {**now, **{(register.name, c): found for c in step.components}}
        axes.append(now)
    demands, alive = set(), set[tuple[str, int]]()
    for step, known in zip(reversed(steps), reversed(axes), strict=True):
        kinds = [known[place] for place in alive if place in known]
        demands.add(
            (
                sum(x and y for x, y in kinds),
                sum(x and not y for x, y in kinds),
                sum(y and not x for x, y in kinds),
            )
        )
        register = step.instruction.dst.register if step.instruction.dst else None
        if isinstance(register, Temporary):
            alive -= {(register.name, c) for c in step.components}
        alive |= set(step.reads)
    return demands


def _axes(step: Step, now: Mapping[tuple[str, int], Axes]) -> Axes:
    lookup: Lookup | None = step.lookup
    if isinstance(lookup, AffineLookup):
        return lookup_axes(lookup)
    if lookup is not None:
        return EVERYWHERE
    found: list[Axes] = [now.get(place, NOWHERE) for place in step.reads]
    sources = [src.register for src in step.instruction.srcs]
    found += [EVERYWHERE for register in sources if isinstance(register, Attribute)]
    return union(found)
