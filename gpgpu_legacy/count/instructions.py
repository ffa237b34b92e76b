"""A program's instructions by cost class. Without branches, every fragment executes them all."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.isa.opcodes import OPCODES, CostClass


@frozen
class InstructionCounts:
    """The instructions that one fragment executes, by cost class.

    arithmetic: of texture environments, their stages: one for each unit. kill: KIL instructions,
    counted as if they discarded no fragment.
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
    counts = Counter(OPCODES[i.mnemonic].cost for i in program.instructions)
    lookups = counts[CostClass.LOOKUP]
    arithmetic = lookups if program.state else counts[CostClass.ARITHMETIC]
    return InstructionCounts(arithmetic, lookups, counts[CostClass.KILL])


@lru_cache(maxsize=1024)
def lookups_by_unit(program: Program) -> tuple[tuple[int, int], ...]:
    """How often a program looks up each texture image unit that it uses: (unit, lookups)."""
    return tuple(sorted(Counter(program.lookup_units).items()))
