"""Which components of a program's instructions reach its results; the others are dead.

Programs are straight lines, so one walk from the last instruction to the first finds them. Who
knows where a lookup falls reads no coordinates, and what computed those may then be dead, too.
"""

from __future__ import annotations

from functools import lru_cache

from gpgpu_legacy.isa.dependences import all_parts_read
from gpgpu_legacy.isa.ir import Instruction, Program, ResultKind, ResultRegister


@lru_cache(maxsize=256)
def live_components(program: Program, known: tuple[bool, ...]) -> tuple[tuple[int, ...], ...]:
    """For each instruction the components of its result that reach the program's results.

    known: for each lookup, whether it is known where it falls, so that it reads no coordinates.
    Found backwards: a component is needed where a later instruction that is itself needed reads it
    before it is written again. A discard is a result; the depth, which goes nowhere, is none.
    """
    needed: set[tuple[str, int]] = set()
    folded = list(known)
    live: list[tuple[int, ...]] = []
    for instruction in reversed(program.instructions):
        is_folded = instruction.texture is not None and folded.pop()
        components = _needed(instruction, needed)
        live.append(components)
        if components and not is_folded:
            # Textures have one level, so a bias changes nothing.
            needed |= all_parts_read(instruction, components, bias=False)
    return tuple(reversed(live))


def _needed(instruction: Instruction, needed: set[tuple[str, int]]) -> tuple[int, ...]:
    """The components of a result that are needed; what it writes is from here on not."""
    dst = instruction.dst
    if dst is None:
        return (0, 1, 2, 3)
    if isinstance(dst.register, ResultRegister):
        return dst.components if dst.register.kind is ResultKind.COLOR else ()
    name = dst.register.name
    components = tuple(c for c in dst.components if (name, c) in needed)
    needed -= {(name, c) for c in components}
    return components
