"""The entry of GLSL's fragment shaders in the registry of languages."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.language import SHADERS, Language, compiled


def assemble(text: str, name: str, **asked: Any) -> Program:
    """Compile a fragment shader, whose name may have macros, as in `blur.frag,RADIUS=2`."""
    from gpgpu_legacy.languages.glsl.fragments import compile_text

    return compiled(compile_text, text, name, **asked)


LANGUAGE = Language(
    "GLSL 1.10 to 1.30 and GLSL ES 1.00", "", assemble, SHADERS,
    r"\bvoid\s+main\s*\(\s*(void)?\s*\)", compiles=True,
)  # fmt: skip
