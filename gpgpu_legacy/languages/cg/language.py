"""The entry of Cg and HLSL in the registry of languages."""

from __future__ import annotations

from functools import partial

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.language import HLSL, WITH_ENTRIES, Language, compiled, split_entry


def assemble(text: str, name: str, *, mathematics: str = "", profile: str = "") -> Program:
    """Compile a text's entry function: that after a colon in the name, or main, or the only one.

    mathematics: of what languages define otherwise; Direct3D 9's for HLSL if none is named.
    profile: of PROFILES.
    """
    from gpgpu_legacy.languages.cg.compiler import compile_text
    from gpgpu_legacy.languages.shading.mathematics import CG, DIRECT3D9

    own = DIRECT3D9 if split_entry(name)[0].lower().endswith(HLSL) else CG
    own_text = partial(compile_text, mathematics=mathematics or own, profile=profile)
    return compiled(own_text, text, name)


LANGUAGE = Language(
    "Cg 1.x and HLSL", "", assemble, WITH_ENTRIES, r"\)\s*(:\s*\w+\s*)?\{",
    ("mathematics", "profile"),
)  # fmt: skip
