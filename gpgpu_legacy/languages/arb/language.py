"""The entry of ARB_fragment_program 1.0 in the registry of languages."""

from __future__ import annotations

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.arb.limits import HEADER
from gpgpu_legacy.languages.language import Language


def _assemble(text: str, name: str) -> Program:
    from gpgpu_legacy.languages.arb.parser import assemble

    return assemble(text, name)


def _print(program: Program) -> str:
    from gpgpu_legacy.languages.arb.printer import disassemble

    return disassemble(program)


LANGUAGE = Language(
    "ARB_fragment_program 1.0", _assemble, (".fp",), HEADER,
    owns=lambda program: program.state is None, print=_print,
)  # fmt: skip
