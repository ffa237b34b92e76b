"""The slots that a program takes where vector and scalar parts share them, by their addresses.

Each part of an instruction of R300 writes its own components. Operands are read through addresses,
three for the components x, y and z and three for w, which both parts of a slot share (Mesa's
radeon_program_pair.h). So a scalar that reads x, y or z of two registers finds room only beside a
vector part that names one of them, or has room to spare.

The schedule is a real one, and so a number that can be reached: each part goes, in the order of the
text, into the first slot after what it waits for that has room. Lookups end a run of slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpgpu_legacy.chips.native import InstructionSet, NativeUse, count_native
from gpgpu_legacy.isa.ir import DestinationRegister, Program, SourceRegister
from gpgpu_legacy.isa.opcodes import OPCODES, CostClass
from gpgpu_legacy.studies.packing.search import CHANNELS

ADDRESSES = 3
_W = CHANNELS - 1

Components = frozenset[tuple[SourceRegister | DestinationRegister, int]]


class ScheduledPart(NamedTuple):
    """The vector or the scalar part of an instruction."""

    is_scalar: bool
    reads: Components
    writes: Components


def schedule(program: Program, known: InstructionSet) -> int:
    """The slots of a program whose instructions read all operands natively."""
    total, block = 0, list[list[ScheduledPart]]()
    for use in count_native(program, known).uses:
        if OPCODES[use.instruction.mnemonic].cost is not CostClass.ARITHMETIC:
            total, block = total + len(block), []
        for part in _parts(use):
            _place(block, part)
    return total + len(block)


def _parts(use: NativeUse) -> Iterator[ScheduledPart]:
    dst = use.instruction.dst
    for is_scalar, taken in enumerate((use.vector, use.scalar)):
        if dst is not None and taken:
            written = [c for c in dst.components if (c == _W) == is_scalar]
            reads = {
                (s.register, s.swizzle[c].value) for s in use.instruction.srcs for c in written
            }
            yield ScheduledPart(
                bool(is_scalar),
                frozenset(read for read in reads if read[1] < CHANNELS),
                frozenset((dst.register, c) for c in written),
            )


def _place(block: list[list[ScheduledPart]], part: ScheduledPart) -> None:
    """Put a part into the first slot that may have it; what is read may be written in one slot."""
    first = 0
    for n, slot in enumerate(block):
        for other in slot:
            if other.writes & (part.reads | part.writes):
                first = n + 1
            elif other.reads & part.writes:
                first = n
    for slot in block[first:]:
        if _fits(*slot, part):
            slot.append(part)
            return
    block.append([part])


def _fits(*parts: ScheduledPart) -> bool:
    addresses = {(read[0], read[1] == _W) for part in parts for read in part.reads}
    of_w = sum(is_w for _, is_w in addresses)
    is_free = len({part.is_scalar for part in parts}) == len(parts)
    return is_free and max(of_w, len(addresses) - of_w) <= ADDRESSES
