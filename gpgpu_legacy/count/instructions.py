"""Instructions of a program, by cost class. There are no branches: every fragment runs them all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.isa.opcodes import OPCODES, Cost


@dataclass(frozen=True, slots=True)
class InstructionCounts:
    """Instructions that one fragment executes.

    kill: KIL is counted as if no fragment died.
    """

    arithmetic: int
    lookup: int
    kill: int

    @property
    def total(self) -> int:
        """All of them. END is none: a driver that counts it reports one more."""
        return self.arithmetic + self.lookup + self.kill


def count_instructions(program: Program) -> InstructionCounts:
    """Count a program's instructions by the cost class that the opcode table gives them."""
    counts = Counter(OPCODES[i.mnemonic].cost for i in program.instructions)
    return InstructionCounts(counts[Cost.ARITHMETIC], counts[Cost.LOOKUP], counts[Cost.KILL])
