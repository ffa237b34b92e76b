"""The entry of Cg and HLSL in the registry of languages."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.language import WITH_ENTRIES, Language, compiled


def assemble(text: str, name: str, **asked: Any) -> Program:
    """Compile a text's entry function: that after a colon in the name, or main, or the only one."""
    from gpgpu_legacy.languages.cg.compiler import compile_text

    return compiled(compile_text, text, name, **asked)


LANGUAGE = Language(
    "Cg 1.x and HLSL", "", assemble, WITH_ENTRIES, r"\)\s*(:\s*\w+\s*)?\{", compiles=True
)
