"""gl-arbfp beside others: what it refuses, and whose context is current."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
from drawing import assert_same_bits, draw, on
from products import random_operands

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.program import (
    Dst,
    Instruction,
    Program,
    ResultKind,
    ResultRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl import compatibility
from gpgpu_legacy.runtime.prepared import F32

pytestmark = pytest.mark.gl


@pytest.fixture
def arbfp(ready: Callable[[str], Executor]) -> Executor:
    return ready("gl-arbfp")


def test_a_refused_program_is_a_plan_error(arbfp: Executor) -> None:
    """It reads a temporary that is not declared, which no assembler takes."""
    color = Dst(ResultRegister(ResultKind.COLOR))
    bad = Program((Instruction("MOV", color, (Src(Temporary("NOWHERE")),)),), (), name="bad.fp")
    with pytest.raises(PlanError, match=r"refuses program bad\.fp at position \d+: \S") as raised:
        draw(bad, executor=arbfp)
    assert "\n" not in str(raised.value)


@on("gl-raster")
def test_beside_another_context_of_the_process(
    ready: Callable[[str], Executor], name: str, arbfp: Executor
) -> None:
    """Runs of two GL executors by turns, and one inside the other, in one thread."""
    library, other = ctypes.CDLL("libEGL.so.1"), ready(name)
    library.eglGetCurrentContext.restype = ctypes.c_void_p
    library.eglBindAPI(0x30A2)
    current = library.eglGetCurrentContext
    plan = find_product("hall-carr-hart-multi").plan(m=9, l=14, n=5, block=3)
    operands = random_operands(plan)
    alone, theirs = other.run(plan, operands).outputs["C"], current()
    expected = arbfp.run(plan, operands).outputs["C"]
    assert current() == theirs
    assert_same_bits(other.run(plan, operands).outputs["C"], alone)
    inside: list[F32] = []

    def run_other(*_: object) -> None:
        inside.append(other.run(plan, operands).outputs["C"])

    with compatibility.context().current():
        ours = current()
        found = arbfp.run(plan, operands, observer=run_other).outputs["C"]
        assert current() == ours != theirs
    assert_same_bits(found, expected)
    assert inside
    for values in inside:
        assert_same_bits(values, alone)
    assert current() == theirs
