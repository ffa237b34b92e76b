"""The entry of texture environments in the registry of languages."""

from __future__ import annotations

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.language import Language
from gpgpu_legacy.languages.texenv.stages import HEADER


def _assemble(text: str, name: str) -> Program:
    from gpgpu_legacy.languages.texenv.reader import assemble

    return assemble(text, name)


def _print(program: Program) -> str:
    from gpgpu_legacy.languages.texenv.stages import print_state

    assert program.state is not None
    return print_state(program.state)


LANGUAGE = Language(
    "texture environments of OpenGL 1.3", _assemble, (".texenv",), HEADER,
    owns=lambda program: program.state is not None, print=_print,
)  # fmt: skip
