"""Machine code by LLVM for this processor, kept on disk for later processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import RLock
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from gpgpu_legacy import code_cache
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.emit.llvm_fused import VectorUnit
from gpgpu_legacy.lower.forks import held_across_forks
from gpgpu_legacy.memory import COMPILER_ADDRESSES, require_addresses

AVX512, OFF = "GPGPU_LEGACY_AVX512", "off"
"""The environment variable that, if it is off, keeps code free of AVX-512's instructions."""

COMPILING = held_across_forks(RLock())
"""Held while code is compiled."""


class TargetProcessor:
    """The processor as LLVM knows it. unit: what the emitter of tiles must know of it."""

    def __init__(self, *, avx512: bool) -> None:
        """avx512: whether code may have such instructions, if the processor has them."""
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
        """An engine with a module's code, which is read from disk, or compiled and stored there.

        ordered: whether its values are computed in the order in which the text has them.
        optimised: whether LLVM's passes improve it first, and vectorise its loops.
        """
        require_addresses(COMPILER_ADDRESSES, "LLVM")
        triple, opt = llvm.get_default_triple(), 3
        how = " ordered" * ordered + " optimised" * optimised
        key = f"llvm {llvmlite.__version__} {triple} {self.cpu} {self.features} {opt}{how}\n{text}"
        target = llvm.Target.from_triple(triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=opt
        )
        machine_code = code_cache.read(key)
        if machine_code is None:
            # A context of its own, because constants and types stay in theirs for ever.
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
    """LLVM's scheduler off: a tile's values are emitted in an order for which the registers
    suffice, and the scheduler would load values too early for that. The option is global, so it is
    restored for all other code.
    """
    llvm.set_option(__name__, "-enable-misched=false")
    try:
        yield
    finally:
        llvm.set_option(__name__, "-enable-misched=true")


def this_processor() -> TargetProcessor:
    """The processor with the environment's wishes applied.

    Raises InputError if it lacks what they ask for.
    """
    wanted = os.environ.get(AVX512, "").strip()
    if wanted not in {"", OFF}:
        raise InputError(f"{AVX512} is {wanted!r}; set it to {OFF}, or unset it")
    with COMPILING:
        return _processor(avx512=wanted != OFF)


@cache
def _processor(*, avx512: bool) -> TargetProcessor:
    return TargetProcessor(avx512=avx512)
