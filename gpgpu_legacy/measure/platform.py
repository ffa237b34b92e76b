"""The properties of the measuring machine on which times depend."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.devices import processor

_PACKAGES = (
    "gpgpu-legacy", "numpy", "moderngl", "llvmlite", "numba", "torch", "cupy", "cupy-cuda11x",
    "cupy-cuda12x", "cupy-cuda13x",
)  # fmt: skip

_VARIABLES = (
    "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "LP_NUM_THREADS",
    "LP_NATIVE_VECTOR_WIDTH", "CUPY_TF32", "GPGPU_LEGACY_AVX512",
)  # fmt: skip


@dataclass(frozen=True)
class Platform:
    """A machine's devices in words, and the driver of its OpenGL."""

    device: str
    driver: str


@cache
def this_platform() -> Platform:
    """The machine that this runs on. Makes the process's OpenGL context, if possible."""
    from gpgpu_legacy.runtime.gl import core

    try:
        ctx = core.context()
    except ExecutorUnavailableError:
        return Platform(processor(), "no OpenGL")
    renderer, gl_version = str(ctx.info["GL_RENDERER"]), str(ctx.info["GL_VERSION"])
    if ctx.is_hardware:
        return Platform(f"{renderer}; {processor()}", f"OpenGL {gl_version}")
    return Platform(processor(), f"OpenGL {gl_version}, {renderer}")


def versions() -> dict[str, str]:
    """Of Python, of the installed packages that times depend on, and of NumPy's BLAS."""
    from importlib.metadata import PackageNotFoundError, version

    import numpy as np

    named = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            named[name] = version(name)
        except PackageNotFoundError:
            continue
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    named["blas"] = f"{blas.get('name')} {blas.get('version')}"
    return named


def settings() -> dict[str, str]:
    """The environment's variables that choose instructions or threads, ours and the libraries'."""
    return {name: " ".join(os.environ[name].split()) for name in _VARIABLES if name in os.environ}
