"""A program as an ARB_fragment_program, whatever language it was written in."""

from __future__ import annotations

from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.lower.emit.targets import Translation, TranslationTarget

TARGETS = (
    TranslationTarget(
        "arb",
        "the equivalent ARB_fragment_program",
        lambda program, _exact: Translation(program, disassemble(program)),
    ),
)
