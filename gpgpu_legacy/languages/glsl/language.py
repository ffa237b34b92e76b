"""The entry of GLSL's fragment shaders in the registry of languages."""

from __future__ import annotations

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.language import CompilerOptions, Language


def assemble(text: str, file: str, options: CompilerOptions) -> Program:
    """Compile a fragment shader."""
    from gpgpu_legacy.languages.glsl.fragments import compile_text

    return compile_text(text, file, options)


LANGUAGE = Language(
    "GLSL 1.10 to 1.30 and GLSL ES 1.00", assemble, (".frag", ".glsl", ".fs", ".fsh"),
    sign=r"\bvoid\s+main\s*\(\s*(void)?\s*\)", compiles=True,
)  # fmt: skip
