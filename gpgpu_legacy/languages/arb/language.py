"""The entry of ARB_fragment_program 1.0 in the registry of languages."""

from __future__ import annotations

from gpgpu_legacy.languages.arb.limits import HEADER
from gpgpu_legacy.languages.language import Language, later

LANGUAGE = Language(
    "ARB_fragment_program 1.0", later("gpgpu_legacy.languages.arb.parser:assemble"), (".fp",),
    HEADER, owns=lambda program: program.state is None,
    print=later("gpgpu_legacy.languages.arb.printer:disassemble"),
)  # fmt: skip
