"""The fragment programs under shaders/."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.sources import shader_text


@cache
def load_program(path: str, **parameters: int | str | bool) -> Program:
    """Assemble a shader under shaders/. The same path and parameters give the same object.

    path, parameters: as `shader_text` takes them.
    """
    from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
    from gpgpu_legacy.languages.arb.parser import assemble

    text = shader_text(path, **parameters)
    own = ("characters", "instructions", "alu_instructions", "texture_instructions")
    limits = replace(DEFAULT_LIMITS, **dict.fromkeys(own, len(text)))  # it is the package's own
    return assemble(text, f"shaders/{path}", limits=limits)
