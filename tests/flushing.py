"""A thread that takes denormals for 0, and the reference machine of a device that does so."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, wraps
from typing import Any
from unittest.mock import patch

from gpgpu_legacy.interp import machine
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.isa.opcodes import OPCODES

IS_KNOWN = platform.system() == "Linux" and platform.machine() == "x86_64"
"""Whether this is glibc's fenv_t of x86-64: eight words, of which the last is MXCSR."""

_FTZ_AND_DAZ = 0x8040


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libm.so.6")


@contextmanager
def flushing() -> Iterator[None]:
    """This thread as a library compiled with -ffast-math leaves it: FTZ and DAZ in MXCSR."""
    before = (ctypes.c_uint32 * 8)()
    _library().fegetenv(before)
    changed = (ctypes.c_uint32 * 8)(*before)
    changed[7] |= _FTZ_AND_DAZ
    _library().fesetenv(changed)
    try:
        yield
    finally:
        _library().fesetenv(before)


def _flushed(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **more: Any) -> Any:
        with flushing():
            return function(*args, **more)

    return call


@contextmanager
def flushing_machine() -> Iterator[None]:
    """The numpy machine as a device has it whose operations flush, and whose moves do not."""
    rows = {name: replace(row, evaluate=_flushed(row.evaluate)) for name, row in OPCODES.items()}
    names = ("interpolate", "sample", "saturated")
    parts = {name: _flushed(getattr(machine, name)) for name in names}
    with (
        patch.multiple(machine, OPCODES=rows, **parts),
        patch.object(Storage, "blend_add", _flushed(Storage.blend_add)),
    ):
        yield
