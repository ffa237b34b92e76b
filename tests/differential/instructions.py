"""Instructions of an opcode under every mask, with every swizzle, sign and saturation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, product
from random import Random

from gpgpu_legacy.isa.opcodes import Opcode, OperandKind

UNSIGNED = {"LG2", "POW", "TXP"}  # a negative first operand is left open by the specification

LETTERS = ("xyzw", "rgba")
SIGNS = ("", "-", "+")
MASKS = [[c for c in range(4) if bits >> c & 1] for bits in range(1, 16)]


class Writer:
    """Instructions of one opcode on registers, as text.

    One after the other its vector operands have all 256 swizzles, in an order of the opcode's own.
    """

    def __init__(self, row: Opcode, sources: Sequence[str]) -> None:
        self.row, self.sources = row, sources
        self.random = Random(row.mnemonic)
        order = self.random.sample(list(product(range(4), repeat=4)), 256)
        self.swizzles = cycle(order)

    def anything(self, into: str) -> str:
        """An instruction under any mask, which saturates or not."""
        mask, saturate = self.random.choice(MASKS), self.random.choice((False, True))
        return self.instruction(mask, into, saturate=saturate)

    def instruction(self, mask: list[int], into: str, *, saturate: bool) -> str:
        operands, sources = list[str](), iter(self.sources)
        for kind in self.row.shape:
            match kind:
                case OperandKind.DESTINATION:
                    operands.append(f"{into}.{self.letters(mask)}" if len(mask) < 4 else into)
                case OperandKind.VECTOR | OperandKind.SCALAR:
                    picked = self.letters(
                        next(self.swizzles)[: 4 if kind is OperandKind.VECTOR else 1]
                    )
                    suffix = picked[0] if len(set(picked)) == 1 else picked
                    is_unsigned = len(operands) == 1 and self.row.mnemonic in UNSIGNED
                    sign = "" if is_unsigned else self.random.choice(SIGNS)
                    operands.append(f"{sign}{next(sources)}.{suffix}")
                case OperandKind.REGISTER:
                    operands.append(next(sources))
                case OperandKind.EXTENDED_SWIZZLE:
                    letters = self.random.choice(LETTERS) + "01"
                    operands += [
                        self.random.choice(SIGNS) + self.random.choice(letters) for _ in range(4)
                    ]
                case OperandKind.TEXTURE_UNIT:
                    operands.append("texture[3]")
                case OperandKind.TEXTURE_TARGET:
                    operands.append("RECT")
        return f"{self.row.mnemonic}{'_SAT' * saturate} {', '.join(operands)};"

    def letters(self, components: Sequence[int]) -> str:
        alphabet = self.random.choice(LETTERS)
        return "".join(alphabet[c] for c in components)
