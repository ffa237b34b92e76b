"""The compute kernels under shaders/."""

from __future__ import annotations

from functools import cache

from gpgpu_legacy.kernel.ir import Kernel
from gpgpu_legacy.sources import shader_text


@cache
def load_kernel(path: str, **parameters: int | str | bool) -> Kernel:
    """Parse a kernel under shaders/. The same path and parameters give the same object.

    path, parameters: see `shader_text`.
    """
    from gpgpu_legacy.kernel.parser import parse_kernel

    return parse_kernel(shader_text(path, **parameters), name=f"shaders/{path}")
