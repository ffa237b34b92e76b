"""Compute kernels as native code: LLVM compiles what the emitters write (lower/machine_code.py).

emit/llvm_kernel.py has the function that runs work groups one after another, which threads share
(runtime/jit.py), emit/llvm_trace.py that of their loads and stores.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.ir.kernel import Kernel
from gpgpu_legacy.ir.types import DTYPES
from gpgpu_legacy.lower.emit.llvm_kernel import ENTRY, KernelEmitter
from gpgpu_legacy.lower.machine_code import COMPILING, TargetProcessor, this_processor

Words = NDArray[np.int64]

_ENTRY = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)


class KernelCode:
    """A kernel's machine code, which holds no lock of Python's while it runs."""

    def __init__(self, emitter: KernelEmitter, processor: TargetProcessor) -> None:
        """Compiled, or read from disk."""
        self._engine = processor.load(emitter.text(), optimised=True)  # owns the code
        self._call = _ENTRY(self._engine.get_function_address(ENTRY))
        self._state_words = emitter.state_words

    def state(self) -> Words:
        """A new state."""
        return np.zeros(self._state_words, np.int64)

    def __call__(self, words: Words, first: int, last: int, state: Words) -> int:
        """Run the work groups from `first` up to, but without, `last`; see the emitters."""
        result: int = self._call(words.ctypes.data, first, last, state.ctypes.data)
        return result


def compile_kernel(
    kernel: Kernel,
    unproven: frozenset[int] | None = None,
    emitter: Callable[..., KernelEmitter] = KernelEmitter,
) -> KernelCode:
    """The native code of a kernel: its work groups, or with TraceEmitter its loads and stores.

    unproven: the numbers of the accesses that may leave their arrays, from kernels/bounds.py for a
    dispatch; by default all. The code checks these. It is kept in the user's cache folder for later
    processes, if that is writable. Thread-safe. Raises as the emitter does.
    """
    with COMPILING:
        return _compiled(kernel, unproven, emitter, this_processor())


@lru_cache(maxsize=128)
def _compiled(
    kernel: Kernel,
    unproven: frozenset[int] | None,
    emitter: Callable[..., KernelEmitter],
    processor: TargetProcessor,
) -> KernelCode:
    return KernelCode(emitter(kernel, unproven), processor)


def words_of(
    kernel: Kernel,
    header: Iterable[int],
    arrays: Iterable[Iterable[int]],
    values: Mapping[str, Any],
) -> Words:
    """The words that the code is handed. arrays: the words of each; values: of uniforms, by name.

    Numbers that a uniform's type does not hold become infinities, or raise OverflowError.
    """
    words = [*header, *chain.from_iterable(arrays)]
    with np.errstate(over="ignore"):
        for uniform in kernel.uniforms:
            value = getattr(np, DTYPES[uniform.type.kind])(values[uniform.name])
            words.append(int(value.view(f"i{value.itemsize}")))
    return np.array(words, np.int64)
