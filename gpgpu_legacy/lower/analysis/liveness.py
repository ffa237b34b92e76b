"""Liveness: the components of instructions that reach the program's results.

One walk from the last instruction to the first finds them, which goes through a loop until nothing
is added. A lookup at a known texel reads no coordinates, so the instructions that computed these
may be dead, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from gpgpu_legacy.isa.execute import Parts, parts_read
from gpgpu_legacy.isa.opcodes import Form
from gpgpu_legacy.isa.program import (
    Body,
    Branch,
    Instruction,
    Numbered,
    Program,
    Repetition,
    ResultKind,
    ResultRegister,
)

Needed = set[tuple[str, int]]
"""Components of temporaries."""

Live = tuple[tuple[int, ...], ...]
"""Components of the result of each instruction."""


@lru_cache(maxsize=256)
def live_components(program: Program, known: tuple[bool, ...]) -> Live:
    """For each instruction the components of its result that reach the program's results.

    known: for each lookup, whether its texel is known, so that it reads no coordinates.
    Found backwards: a component is needed if a later needed instruction reads it before it is
    written again. A discard and a branch are results; the depth, which is not used, is not.
    """
    folded = dict(zip(_lookups(program), known, strict=True))

    def visit(step: Numbered, needed: Needed, *, ends: bool) -> tuple[int, ...]:
        number, instruction = step
        components = _needed(instruction, needed, ends=ends)
        if components and not folded.get(number, False):
            needed.update(*_read(instruction, components))
        return components

    return _backwards(program, visit)


def _lookups(program: Program) -> Iterator[int]:
    """The numbers of the instructions that are lookups."""
    return (n for n, i in enumerate(program.instructions) if i.texture is not None)


def _backwards(
    program: Program, visit: Callable[..., tuple[int, ...]], *, in_quads: bool = False
) -> Live:
    """What `visit` gives for each instruction: from the instruction and the components that are
    needed after it, which it changes to those needed before. ends: whether a component that it
    writes is no longer needed before it. in_quads: a side of a branch may read what others of the
    quad wrote on the side before.
    """
    live: list[tuple[int, ...]] = [()] * len(program.instructions)

    def walk(body: Body, needed: Needed, *, ends: bool) -> None:
        for part in reversed(body):
            step = part if isinstance(part, tuple) else part.head
            if isinstance(part, Branch):
                other = set(needed)
                walk(part.otherwise, other, ends=ends and not in_quads)
                needed |= other if in_quads else set()
                walk(part.then, needed, ends=ends and not in_quads)
                needed |= other
            elif isinstance(part, Repetition):
                before = -1
                while before != len(needed):
                    before = len(needed)
                    walk(part.body, needed, ends=False)
            live[step[0]] = visit(step, needed, ends=ends)

    walk(program.body, set(), ends=True)
    return tuple(live)


@lru_cache(maxsize=256)
def coordinate_components(
    program: Program, wanted: tuple[bool, ...], *, executed: bool = True
) -> Live:
    """The same for the coordinates of the wanted lookups, and for the sources of derivatives.

    executed: each of these has at least one component, even if no other needs it.
    """
    looked_up = dict(zip(_lookups(program), wanted, strict=True))

    def visit(step: Numbered, needed: Needed, *, ends: bool) -> tuple[int, ...]:
        number, instruction = step
        form = instruction.opcode.form
        steers = form is Form.FLOW and (program.derives or any(wanted))
        own = steers or instruction.written
        components = _needed(instruction, needed, ends=ends) if own else ()
        place = instruction.components[:1] if looked_up.get(number, False) else ()
        if form is Form.DERIVATIVE:
            place = instruction.components
        if components or place:
            read = place if form is Form.DERIVATIVE else components or place
            needed.update(*_read(instruction, read))
        return components or place if executed else components

    return _backwards(program, visit, in_quads=True)


def _read(instruction: Instruction, components: Iterable[int]) -> Iterator[Parts]:
    """The components of temporaries from which some of the result are computed."""
    parts = parts_read(instruction)
    return (parts[c] for c in components if c in parts)


def _needed(instruction: Instruction, needed: Needed, *, ends: bool) -> tuple[int, ...]:
    """The needed components of a result; if it `ends` their life, and is not masked, they are no
    longer needed before it.
    """
    if not instruction.written:
        depth = instruction.register == ResultRegister(ResultKind.DEPTH)
        return () if depth else instruction.components
    wanted = needed.intersection(instruction.written)
    if ends and instruction.test is None:
        needed -= wanted
    return tuple(sorted({c for _, c in wanted}))
