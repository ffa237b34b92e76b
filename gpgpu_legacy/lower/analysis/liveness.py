"""Liveness: the components of instructions that reach the program's results.

Programs are straight-line code, so one walk from the last instruction to the first finds them. A
lookup at a known texel reads no coordinates, so the instructions that computed these may be dead,
too.
"""

from __future__ import annotations

from functools import lru_cache

from gpgpu_legacy.isa.dependences import all_parts_read
from gpgpu_legacy.isa.ir import Instruction, Program, ResultKind, ResultRegister


@lru_cache(maxsize=256)
def live_components(program: Program, known: tuple[bool, ...]) -> tuple[tuple[int, ...], ...]:
    """For each instruction the components of its result that reach the program's results.

    known: for each lookup, whether its texel is known, so that it reads no coordinates.
    Found backwards: a component is needed if a later needed instruction reads it before it is
    written again. A discard is a result; the depth, which is not used, is not.
    """
    needed: set[tuple[str, int]] = set()
    folded = list(known)
    live: list[tuple[int, ...]] = []
    for instruction in reversed(program.instructions):
        is_folded = instruction.texture is not None and folded.pop()
        components = _needed(instruction, needed)
        live.append(components)
        if components and not is_folded:
            needed |= all_parts_read(instruction, components)
    return tuple(reversed(live))


@lru_cache(maxsize=256)
def coordinate_components(
    program: Program, wanted: tuple[bool, ...], *, executed: bool = True
) -> tuple[tuple[int, ...], ...]:
    """The same for the coordinates of the wanted lookups.

    executed: each of these has at least one component, even if no other needs it.
    """
    needed: set[tuple[str, int]] = set()
    lookups = list(wanted)
    live: list[tuple[int, ...]] = []
    for instruction in reversed(program.instructions):
        components = _needed(instruction, needed) if instruction.written else ()
        is_wanted = instruction.texture is not None and lookups.pop()
        place = instruction.components[:1] if is_wanted else ()
        live.append(components or place if executed else components)
        if components or place:
            needed |= all_parts_read(instruction, components or place)
    return tuple(reversed(live))


def _needed(instruction: Instruction, needed: set[tuple[str, int]]) -> tuple[int, ...]:
    """The needed components of a result; they are no longer needed before it."""
    if not instruction.written:
        depth = instruction.register == ResultRegister(ResultKind.DEPTH)
        return () if depth else instruction.components
    found = needed.intersection(instruction.written)
    needed -= found
    return tuple(sorted(c for _, c in found))
