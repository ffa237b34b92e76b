"""A program as an ARB_fragment_program, whatever language it was written in."""

from __future__ import annotations

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.lower.emit.targets import Translation, TranslationTarget


def _translate(program: Program, _exact: bool) -> Translation:
    return Translation(program, disassemble(program))


TARGETS = (TranslationTarget("arb", "the equivalent ARB_fragment_program", _translate),)
