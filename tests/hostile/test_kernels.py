"""Kernels that reach anywhere: nothing outside is taken to be inside, and numpy and jit agree.

And kernels that are hardly any, and loops that are counted without following them.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from attacks import ATTACK, mutated_text
from kernels import dispatch, wrongly_proven

from gpgpu_legacy.errors import AssemblyError, GpgpuLegacyError
from gpgpu_legacy.interp.kernel import CountingMachine
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.isa.statements import Loop
from gpgpu_legacy.isa.types import Type
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.lower.emit.llvm_kernel import KernelEmitter
from gpgpu_legacy.plan.plan import ComputePass


def test_no_access_is_proven_that_the_reference_machine_finds_outside() -> None:
    random = ATTACK.random("proven kernels")
    outside = 0
    for _ in range(ATTACK.count(20, 400)):
        seed = random.randrange(2**40)
        wrong, found, _ = wrongly_proven(seed)
        assert not wrong, seed
        outside += found
    assert outside > 0


def test_numpy_and_jit_agree_in_bits_or_in_the_error() -> None:
    """In another process, whose end by a signal is seen here."""
    random = ATTACK.random("run kernels")
    seeds = [str(random.randrange(2**40)) for _ in range(ATTACK.count(1, 30))]
    script = str(Path(__file__).with_name("kernels.py"))
    done = subprocess.run(
        [sys.executable, script, *seeds], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    found = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert list(found) == seeds
    assert set(found.values()) <= {"same", "refused"}, done.stdout


_PIECES = (
    *("for (int k = 0; k < 9; ++k) ", "if (tx < 3) ", "barrier();", "float(", "vec4(", "layout("),
    *("shared float Q[9999][9999];", "const int c = 1 - 2;", "double d = 0.5lf;", "4294967296"),
    "local_size_x = 99999) in;",
    "binding = 4294967295) ",
    *["1e999", "0x1", "0.5", "²", "/*", "//"],
    *("\\", "\0", "\r", "&&", "==", "++", ".x", *"{}()[];:?!-u.,"),
)


def test_mutated_kernels_have_a_diagnostic_with_a_place_or_are_kernels() -> None:
    random = ATTACK.random("mutated kernels")
    accepted = 0
    for _ in range(ATTACK.count(60, 1500)):
        pass_ = dispatch(random.randrange(1000))
        text = mutated_text(random, pass_.kernel.text, _PIECES)
        try:
            kernel = parse_kernel(text, "mutant.comp")
        except AssemblyError as error:
            assert str(error).startswith(f"mutant.comp:{error.line}:{error.column}: ")
            continue
        accepted += 1
        try:
            llvm.parse_assembly(KernelEmitter(kernel).text(), llvm.create_context()).verify()
        except GpgpuLegacyError as error:
            assert "\n" not in str(error)
    assert accepted > 0


def test_what_is_counted_at_once_is_what_is_counted_trip_by_trip() -> None:
    random = ATTACK.random("counted kernels")
    for _ in range(ATTACK.count(20, 500)):
        seed = random.randrange(2**40)
        pass_ = dispatch(seed)
        assert _tallied(pass_, at_once=True) == _tallied(pass_, at_once=False), seed


class _Tally(CountingMachine):
    """Counts active invocations of every event."""

    def __init__(self, pass_: ComputePass) -> None:
        super().__init__(pass_)
        self.invocations = pass_.invocations
        self.totals: Counter[str] = Counter()

    def note(self, what: str) -> None:
        active, mask = self.invocations, self.mask
        if mask is not None:
            active = int(np.count_nonzero(mask)) * (self.invocations // mask.size)
        self.totals[what] += active * self.weight

    def access(self, element: Element, *, store: bool) -> None:
        self.note(f"{element.array.name} {store}")

    def arithmetic(self, type_: Type) -> None:
        self.note("arithmetic")

    def barrier(self) -> None:
        self.note("barriers")


class _TripByTrip(_Tally):
    def counted(self, loop: Loop) -> None:
        return None


def _tallied(pass_: ComputePass, *, at_once: bool) -> Counter[str]:
    tally = (_Tally if at_once else _TripByTrip)(pass_)
    tally.run()
    return +tally.totals
