"""The entry of Cg and HLSL in the registry of languages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.language import WITH_ENTRIES, Language, split_entry


def assemble(text: str, name: str) -> Program:
    """Compile a text's entry function: that after a colon in the name, or main, or the only one.

    #include reads files beside the text's own, and where that is below the current folder, in all
    of the current folder.
    """
    from gpgpu_legacy.languages.cg.compiler import compile_text

    file, entry, defines = split_entry(name)
    folder, here = Path(file).resolve().parent, Path.cwd()
    root = here if folder.is_relative_to(here) else folder
    program = compile_text(text, file, entry=entry, folder=folder, root=root, defines=defines)
    return replace(program, name=name)


LANGUAGE = Language("Cg 1.x and HLSL", "", assemble, WITH_ENTRIES, r"\)\s*(:\s*\w+\s*)?\{")
