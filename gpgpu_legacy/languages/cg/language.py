"""The entry of Cg and HLSL in the registry of languages."""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.language import CompilerOptions, Language

_HLSL = (".fx", ".fxh", ".hlsl", ".psh")


def assemble(text: str, file: str, options: CompilerOptions) -> Program:
    """Compile a text's entry function: the one that is asked for, or main, or the only one."""
    from gpgpu_legacy.languages.cg.compiler import compile_text
    from gpgpu_legacy.languages.shading.library import DIRECT3D9

    if file.lower().endswith(_HLSL) and not options.mathematics:
        options = replace(options, mathematics=DIRECT3D9)
    return compile_text(text, file, options)


LANGUAGE = Language(
    "Cg 1.x and HLSL", assemble, (".cg", ".cgh", ".cgfx", *_HLSL),
    sign=r"\)\s*(:\s*\w+\s*)?\{", compiles=True,
)  # fmt: skip
