"""Compute kernels to native code: numba compiles their text, and keeps the code.

emit/numba_kernel.py has the function that runs work groups one after another, which threads share
out (runtime/jit.py); emit/numba_kernel.py has the generator of what they load and store.
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

from gpgpu_legacy.kernel.ir import Kernel
from gpgpu_legacy.lower.emit.numba_kernel import ADDRESSES, DTYPES, ENTRY, address_text, python_text
from gpgpu_legacy.lower.forks import held_across_forks

WorkGroups = Callable[..., None]
"""A compiled kernel; see python_text."""

Addresses = Callable[..., Iterator[int]]
"""A compiled generator; see address_text."""


def compile_kernel(kernel: Kernel, unproven: frozenset[int] | None = None) -> WorkGroups:
    """The native code of a kernel, which holds no lock of Python's while it runs.

    unproven: the numbers of the accesses that may be outside of their arrays, as kernels/bounds.py
    finds them for a dispatch; all may, unless given. The code raises IndexError there instead. It
    is kept in the user's cache folder, for later processes, where there is one to write to. Any
    number of threads may ask. Raises what python_text does.
    """
    with _LOCK:
        return _compiled(kernel, unproven, ENTRY)


def compile_addresses(kernel: Kernel, unproven: frozenset[int] | None = None) -> Addresses:
    """The native code of address_text, compiled when it is first called, and kept likewise."""
    with _LOCK:
        return _compiled(kernel, unproven, ADDRESSES)


# Held by who makes code.
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
        uniforms = [getattr(numba, DTYPES[uniform.type]) for uniform in kernel.uniforms]
        signature = numba.void(*buffers, *uniforms, numba.int64[::1], *[numba.int64] * 4)
    module = ModuleType(f"kernel_{sha256(text.encode()).hexdigest()[:24]}")
    exec(compile(text, module.__name__, "exec"), module.__dict__)
    # Where numba looks for the module when it reads kept code: as long as there is code of it.
    sys.modules[module.__name__] = module
    compiled = compile_text_function(getattr(module, entry), text, signature)
    finalize(compiled, _forget, module)
    return compiled


def _forget(module: ModuleType) -> None:
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
