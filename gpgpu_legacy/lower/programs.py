"""The statements of a program without a pass, for translations that people read and keep.

No instruction is left out. The rasteriser gives the attributes, samplers look up the textures, and
the framebuffer takes the colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.execute import ALL, execute
from gpgpu_legacy.isa.expressions import (
    Expression,
    Given,
    Read,
    Role,
    Sample,
    Variable,
    expression,
    operation,
)
from gpgpu_legacy.isa.program import Instruction, Program, ResultRegister, TextureSource
from gpgpu_legacy.isa.statements import Assign, Statement
from gpgpu_legacy.isa.types import EVERYWHERE, Components, Operator
from gpgpu_legacy.languages.arb.printer import print_instruction
from gpgpu_legacy.lower.framebuffer import behind_fog, fog_declared
from gpgpu_legacy.lower.lowering import Lowering, result_variable


class ProgramLowering(Lowering):
    """Lowers a program, and leaves lookups to samplers.

    parts: each instruction with its statements.
    """

    def __init__(self) -> None:
        """Begin before the first instruction."""
        super().__init__()
        self.parts: list[tuple[Instruction, list[Statement]]] = []

    def step(self, number: int, instruction: Instruction) -> None:
        start = len(self.statements)
        super().step(number, instruction)
        self.parts.append((instruction, self.statements[start:]))

    def texel(
        self, source: TextureSource, coordinates: Sequence[Expression], components: Components
    ) -> Expression:
        return Sample(tuple(map(expression, coordinates)), source, components)


def program_statements(
    program: Program, lowering: ProgramLowering
) -> Iterator[tuple[Instruction | None, Sequence[Statement]]]:
    """Yield each instruction with its statements, then None with those of the program's fog.

    lowering: new; it executes the program. Raises InputError at the first instruction that needs
    one of NVIDIA's options.
    """
    refused = next((i for i in program.instructions if i.needs_option()), None)
    if refused is not None:
        at = refused.span
        raise InputError(
            f"{program.name}:{at.line}:{at.column}: {refused.mnemonic} of NVIDIA's options is not "
            "translated; run the program, or write it without them"
        )
    execute(program, lowering)
    yield from lowering.parts
    if program.fog is None:
        return
    yield None, [fog_declared(program.fog)]
    for result in result_registers(program):
        if result.name == "color":
            seen = operation(Operator.SATURATE, Read(result, ALL, EVERYWHERE))
            yield None, [Assign(result, ALL, seen), behind_fog(result)]


def joined(parts: Sequence[Expression]) -> Expression | None:
    """Join components of one variable or one given value to a vector; None for other parts."""
    named = [part for part in parts if isinstance(part, Read | Given)]
    sources = {part.variable if isinstance(part, Read) else part.source for part in named}
    if len(named) < len(parts) or len(sources) > 1:
        return None
    return replace(named[0], components=tuple(c for part in named for c in part.components))


def result_registers(program: Program) -> list[Variable]:
    """The results that the program writes, and result.color."""
    written = [
        Variable(i.register.kind.value, role=Role.RESULT, number=i.register.index)
        for i in program.instructions
        if isinstance(i.register, ResultRegister)
    ]
    return list(dict.fromkeys([result_variable(0), *written]))


def source_line(instruction: Instruction) -> str:
    """An instruction's line in the source that was compiled, or else its own text."""
    return instruction.origin or print_instruction(instruction)
