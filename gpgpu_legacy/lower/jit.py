"""Compute kernels as native code: numba compiles their text, and the code is kept.

emit/numba_kernel.py has the function that runs work groups one after another, which threads share
(runtime/jit.py), and the generator of their loads and stores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import sha256
from threading import RLock
from types import ModuleType
from typing import Any
from weakref import finalize

from gpgpu_legacy.ir.kernel import Kernel
from gpgpu_legacy.ir.types import DTYPES
from gpgpu_legacy.lower.emit.numba_kernel import ADDRESSES, ENTRY, address_text, python_text
from gpgpu_legacy.lower.forks import held_across_forks

WorkGroups = Callable[..., None]
"""A compiled kernel; see python_text."""

Addresses = Callable[..., Iterator[int]]
"""A compiled generator; see address_text."""


def compile_kernel(kernel: Kernel, unproven: frozenset[int] | None = None) -> WorkGroups:
    """The native code of a kernel, which holds no lock of Python's while it runs.

    unproven: the numbers of the accesses that may leave their arrays, from kernels/bounds.py for a
    dispatch; by default all. The code checks these and raises IndexError. It is kept in the user's
    cache folder for later processes, if that is writable. Thread-safe. Raises as python_text does.
    """
    with _LOCK:
        return _compiled(kernel, unproven, ENTRY)


def compile_addresses(kernel: Kernel, unproven: frozenset[int] | None = None) -> Addresses:
    """The native code of address_text, compiled on its first call and kept in the same way."""
    with _LOCK:
        return _compiled(kernel, unproven, ADDRESSES)


# Held while code is made.
_LOCK = held_across_forks(RLock())


@lru_cache(maxsize=128)
def _compiled(kernel: Kernel, unproven: frozenset[int] | None, entry: str) -> Callable[..., Any]:
    """The function of that name of a kernel's module, as native code."""
    import numba

    from gpgpu_legacy.lower.numba_code import compile_text_function

    text = (python_text if entry == ENTRY else address_text)(kernel, unproven)
    signature = None
    if entry == ENTRY:
        buffers = [numba.float32[::1]] * len(kernel.buffers)
        uniforms = [getattr(numba, DTYPES[uniform.type.kind]) for uniform in kernel.uniforms]
        signature = numba.void(*buffers, *uniforms, numba.int64[::1], *[numba.int64] * 4)
    module = ModuleType(f"kernel_{sha256(text.encode()).hexdigest()[:24]}")
    exec(compile(text, module.__name__, "exec"), module.__dict__)
    # numba looks for the module here when it reads kept code: it stays as long as its code.
    sys.modules[module.__name__] = module
    compiled = compile_text_function(getattr(module, entry), text, signature)
    finalize(compiled, _forget, module)
    return compiled


def _forget(module: ModuleType) -> None:
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
