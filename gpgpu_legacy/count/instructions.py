"""A program's instructions by cost class. Without branches, every fragment executes them all.

With branches the counts are bounds: both sides of a branch, as for fragments that diverge, and all
trips of a loop, or the most possible if their number is not known. A run counts the instructions
that fragments execute.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.execute import MOST_TRIPS, trips_of
from gpgpu_legacy.isa.opcodes import CostClass
from gpgpu_legacy.isa.program import (
    Body,
    Branch,
    Instruction,
    Program,
    Repetition,
)

BOUNDS = (
    "At most: both sides of branches and all trips of loops are counted; a run on numpy counts "
    "what fragments execute."
)


@frozen
class InstructionCounts:
    """The instructions that one fragment executes, by cost class.

    arithmetic: for texture environments, one for each unit. kill: KIL instructions, counted as if
    they discarded no fragment.
    """

    arithmetic: int
    lookup: int
    kill: int

    @property
    def total(self) -> int:
        """All instructions. END is not one; a driver that counts it reports one more."""
        return self.arithmetic + self.lookup + self.kill


@lru_cache(maxsize=1024)
def count_instructions(program: Program) -> InstructionCounts:
    """Count a program's instructions by the cost classes of the opcode table."""
    counts = Counter[CostClass]()
    for instruction, times in zip(program.instructions, executions(program), strict=True):
        counts[instruction.opcode.cost] += times
    lookups = counts[CostClass.LOOKUP]
    arithmetic = lookups if program.state else counts[CostClass.ARITHMETIC]
    return InstructionCounts(arithmetic, lookups, counts[CostClass.KILL])


@lru_cache(maxsize=1024)
def lookups_by_unit(program: Program, *, least: bool = False) -> tuple[tuple[int, int], ...]:
    """How often a program looks up each texture image unit that it uses: (unit, lookups)."""
    counts = Counter[int]()
    numbers = executions(program, least=least)
    for instruction, times in zip(program.instructions, numbers, strict=True):
        if instruction.texture is not None:
            counts[instruction.texture.unit] += times
    return tuple(sorted(counts.items()))


@lru_cache(maxsize=1024)
def executions(program: Program, *, least: bool = False) -> tuple[int, ...]:
    """How often a fragment executes each instruction at most or, with `least`, at least."""
    times = [0] * len(program.instructions)

    def walk(body: Body, often: int) -> None:
        for part in body:
            number, instruction = part if isinstance(part, tuple) else part.head
            times[number] = often
            if isinstance(part, Branch):
                for side in (part.then, part.otherwise):
                    walk(side, 0 if least else often)
            elif isinstance(part, Repetition):
                walk(part.body, often * (0 if least else trips(instruction)))

    walk(program.body, 1)
    return tuple(times)


def trips(loop: Instruction) -> int:
    """The trips of a REP or LOOP if their number is a constant, else the most possible."""
    number = loop.srcs[0].number
    return MOST_TRIPS if number is None else trips_of(number)
