"""The fragment programs, kernels and texture environments under shaders/."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from gpgpu_legacy.files import shader_text
from gpgpu_legacy.isa.program import Program

if TYPE_CHECKING:
    from gpgpu_legacy.isa.kernel import Kernel as ComputeKernel
    from gpgpu_legacy.languages.brook.kernels import BrookKernel


@cache
def load_program(path: str, **parameters: int | str | bool) -> Program:
    """Assemble a shader under shaders/. The same path and parameters give the same object.

    path, parameters: see `shader_text`.
    """
    from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS, HEADER
    from gpgpu_legacy.languages.arb.parser import assemble
    from gpgpu_legacy.languages.registry import program_of

    text = shader_text(path, **parameters)
    if not text.startswith(HEADER):
        return program_of(text, f"shaders/{path}")
    own = ("characters", "instructions", "alu_instructions", "texture_instructions")
    limits = replace(DEFAULT_LIMITS, **dict.fromkeys(own, len(text)))  # enough for any text
    return assemble(text, f"shaders/{path}", limits=limits)


@cache
def load_kernel(path: str, name: str = "") -> BrookKernel:
    """A kernel of a Brook text under shaders/, by its name if there are several."""
    from gpgpu_legacy.languages.brook.kernels import Kernels
    from gpgpu_legacy.languages.c.parser import parse

    return Kernels(parse(shader_text(path), f"shaders/{path}")).find(name)


@cache
def load_compute_kernel(path: str, **parameters: int | str | bool) -> ComputeKernel:
    """Parse a compute shader under shaders/. The same path and parameters give the same object.

    path, parameters: see `shader_text`.
    """
    from gpgpu_legacy.languages.registry import kernel_of

    return kernel_of(shader_text(path, **parameters), f"shaders/{path}")
