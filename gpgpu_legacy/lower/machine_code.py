"""Machine code by LLVM for this processor, kept on disk for later processes.

emit/llvm_kernel.py emits the code of kernels: a function that runs work groups one after another,
which threads share (runtime/jit.py), or one that writes the addresses of their loads and stores.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from itertools import chain
from threading import RLock
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy import code_cache
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.kernel import Kernel
from gpgpu_legacy.isa.types import DTYPES
from gpgpu_legacy.lower.emit.llvm_fused import VectorUnit
from gpgpu_legacy.lower.emit.llvm_kernel import ENTRY, KernelEmitter
from gpgpu_legacy.lower.forks import held_across_forks

AVX512, OFF = "GPGPU_LEGACY_AVX512", "off"
"""An environment variable, and its value that keeps code free of AVX-512's instructions."""

COMPILING = held_across_forks(RLock())
"""Held while code is compiled."""


class TargetProcessor:
    """The processor as LLVM knows it.

    unit: its vectors and registers, for the emitter of fused passes.
    """

    def __init__(self, *, avx512: bool) -> None:
        """avx512: whether code may use AVX-512, if the processor has it."""
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        if not avx512:
            features.update((name, False) for name in features if name.startswith("avx512"))
        self.cpu, self.features = llvm.get_host_cpu_name(), features.flatten()
        wide = bool(features.get("avx512f"))
        lanes = 16 if wide else 8 if features.get("avx") else 4
        is_x86 = bool(features.get("sse2"))
        halves = bool(features.get("f16c")) or not is_x86
        fuses = bool(features.get("fma")) or not is_x86
        self.unit = VectorUnit(lanes, 16 if is_x86 and not wide else 32, halves, fuses)

    def load(self, text: str, *, ordered: bool = False, optimised: bool = False) -> Any:
        """Load a module's code into an engine, from disk or newly compiled.

        text: of the module, in LLVM IR. ordered: whether values are computed in the text's order.
        optimised: whether LLVM's passes improve the module first, and vectorise its loops.
        """
        triple, opt = llvm.get_default_triple(), 3
        how = " ordered" * ordered + " optimised" * optimised
        key = f"llvm {llvmlite.__version__} {triple} {self.cpu} {self.features} {opt}{how}\n{text}"
        target = llvm.Target.from_triple(triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=opt
        )
        machine_code = code_cache.read(key)
        if machine_code is None:
            # In a context of its own: a context keeps its constants and types for ever.
            module = llvm.parse_assembly(text, context=llvm.create_context())
            if optimised:
                module.triple, module.data_layout = triple, str(target.target_data)
                builder = llvm.create_pass_builder(
                    target, llvm.create_pipeline_tuning_options(speed_level=opt)
                )
                builder.getModulePassManager().run(module, builder)
            with _unscheduled() if ordered else nullcontext():
                machine_code = target.emit_object(module)
            code_cache.keep(key, machine_code)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
        engine.finalize_object()
        return engine


@contextmanager
def _unscheduled() -> Iterator[None]:
    """Turn LLVM's scheduler off, which would load values too early.

    A tile's values are emitted in an order for which the registers suffice. The option is global,
    so it is restored for all other code.
    """
    llvm.set_option(__name__, "-enable-misched=false")
    try:
        yield
    finally:
        llvm.set_option(__name__, "-enable-misched=true")


def this_processor() -> TargetProcessor:
    """The processor, without AVX-512 if the environment variable turns it off.

    Raises InputError if the variable has any other value.
    """
    wanted = os.environ.get(AVX512, "").strip()
    if wanted not in {"", OFF}:
        raise InputError(f"{AVX512} is {wanted!r}; set it to {OFF}, or unset it")
    with COMPILING:
        return _processor(avx512=wanted != OFF)


_processor = cache(TargetProcessor)


# Kernels -----------------------------------------------------------------------------------------

Words = NDArray[np.int64]

_ENTRY = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)


class KernelCode:
    """A kernel's machine code, which runs without Python's global lock."""

    def __init__(self, emitter: KernelEmitter, processor: TargetProcessor) -> None:
        """Compile the code, or read it from disk."""
        self._engine = processor.load(emitter.text(), optimised=True)  # owns the code
        self._call = _ENTRY(self._engine.get_function_address(ENTRY))
        self._state_words = emitter.state_words

    def state(self) -> Words:
        """A new state for calls, all 0; each thread needs its own."""
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

    unproven: the numbers of the accesses that the code checks, since they may leave their arrays;
    by default all (kernels/bounds.py finds them for a dispatch). The code is kept in the user's
    cache folder for later processes, if that is writable. Thread-safe. Raises as the emitter does.
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
    """The words for a call of KernelCode: the header, the arrays, the uniforms.

    arrays: the words of each. values: of the uniforms, by name. A number that its uniform's type
    does not hold becomes an infinity, or raises OverflowError if the type is an integer.
    """
    words = [*header, *chain.from_iterable(arrays)]
    with np.errstate(over="ignore"):
        for uniform in kernel.uniforms:
            value = getattr(np, DTYPES[uniform.type.kind])(values[uniform.name])
            words.append(int(value.view(f"i{value.itemsize}")))
    return np.array(words, np.int64)
