"""Liveness: the components of instructions that reach the program's results.

One walk from the last instruction to the first finds them. It repeats a loop until nothing is
added. A lookup at a known texel reads no coordinates, so the instructions that computed these may
be dead, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

from gpgpu_legacy.isa.execute import Components, Parts, parts_read
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

Fact = TypeVar("Fact")

Needed = set[tuple[str, int]]
"""Components of temporaries."""

Live = tuple[Components, ...]
"""Components of the result of each instruction."""


@lru_cache(maxsize=256)
def live_components(program: Program, known: tuple[bool, ...], kept: tuple[int, ...] = ()) -> Live:
    """For each instruction the components of its result that reach the program's results.

    known: for each lookup, whether its texel is known, so that it reads no coordinates. kept: for
    each colour of the result, how many of its components are; all without it.
    A component is needed if a later needed instruction reads it before it is written again.
    Discards and branches count as results; the depth does not, since it is not used.
    """
    folded = by_instruction(program, known)

    def visit(step: Numbered, needed: Needed, *, ends: bool) -> Components:
        number, instruction = step
        components = _needed(instruction, needed, ends=ends)
        if kept and isinstance(instruction.register, ResultRegister):
            components = tuple(c for c in components if c < kept[instruction.register.index])
        if components and not folded.get(number, False):
            needed.update(*_read(instruction, components))
        return components

    return _backwards(program, visit)


def by_instruction(program: Program, facts: Iterable[Fact]) -> dict[int, Fact]:
    """Facts about a program's lookups, in program order, by the numbers of their instructions."""
    lookups = (n for n, i in enumerate(program.instructions) if i.texture is not None)
    return dict(zip(lookups, facts, strict=True))


def _backwards(
    program: Program, visit: Callable[..., Components], *, in_quads: bool = False
) -> Live:
    """The result of `visit` for each instruction, from the last to the first.

    visit: is given an instruction and the components that are needed after it, and changes these to
    those needed before it. Its `ends` says whether a component that the instruction writes is then
    no longer needed. in_quads: whether the second side of a branch may read components that other
    fragments of the quad wrote on the first.
    """
    live: list[Components] = [()] * len(program.instructions)

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
    """For each instruction the components that reach the coordinates of the wanted lookups.

    The sources of derivatives count as such coordinates. executed: each wanted lookup and each
    derivative has at least one component, even if no other instruction needs it.
    """
    looked_up = by_instruction(program, wanted)

    def visit(step: Numbered, needed: Needed, *, ends: bool) -> Components:
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
    """The components of temporaries from which these components of a result are computed."""
    parts = parts_read(instruction)
    return (parts[c] for c in components if c in parts)


def _needed(instruction: Instruction, needed: Needed, *, ends: bool) -> Components:
    """The needed components of an instruction's result.

    ends: whether to remove them from `needed`, unless the write has a condition.
    """
    if not instruction.written:
        depth = instruction.register == ResultRegister(ResultKind.DEPTH)
        return () if depth else instruction.components
    wanted = needed.intersection(instruction.written)
    if ends and instruction.test is None:
        needed -= wanted
    return tuple(sorted({c for _, c in wanted}))
