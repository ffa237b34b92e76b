"""Each opcode and each kind of pass, once on every executor: the reference machine's results."""

from __future__ import annotations

import numpy as np
import pytest
import scalar_machine
from drawing import (
    EACH_EXECUTOR,
    F32,
    as_exact_as_it_can,
    assert_same_bits,
    carry_out_all,
    fragment_texcoords,
    program,
    show,
    texture,
)

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.isa import opcodes
from gpgpu_legacy.isa.opcodes import ARBFP
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import (
    Binding,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Plan,
    Repeat,
)
from gpgpu_legacy.plan.textures import RGBA32F, Rect
from gpgpu_legacy.runtime.executor import find_executor

SIZE = (5, 4)
WHOLE = Rect(0, 0, *SIZE)
TEXELS = np.random.default_rng(1).random((*SIZE[::-1], 4), np.float32)
SOURCES = {
    opcodes.VECTOR_OP: "a",
    opcodes.SCALAR_OP: "a.x",
    opcodes.BINARY_SCALAR_OP: "a.x, program.local[0].w",
    opcodes.BINARY_OP: "a, program.local[0]",
    opcodes.TERNARY_OP: "a, program.local[0], -a.wzyx",
    opcodes.SWIZZLE_OP: "a, x, -y, 0, 1",
    opcodes.SAMPLE_OP: "a, texture[0], RECT",
}
DEFINED = {"SCS": ".xy", "XPD": ".xyz"}
"""The components that the specification does not leave open."""


def compared(plan: Plan, given: dict[str, F32], name: str) -> None:
    """With the reference machine: in bits, where the executor promises these."""
    executor = find_executor(name)
    found = carry_out_all(plan, given, executor)
    for texels, wanted in zip(found, carry_out_all(plan, given), strict=True):
        if as_exact_as_it_can(executor, plan).exact:
            assert_same_bits(texels, wanted)
        else:
            np.testing.assert_allclose(texels, wanted, rtol=1e-3, atol=1e-5)


@EACH_EXECUTOR
def test_each_opcode(name: str) -> None:
    if FragmentPass not in find_executor(name).capabilities.passes:
        pytest.skip(f"{name} draws nothing")
    approximate = sorted(scalar_machine.APPROXIMATE)
    exact = sorted(set(ARBFP) - {*approximate, "KIL"})
    for mnemonics in (exact[:8], exact[8:16], exact[16:], approximate[:5], approximate[5:]):
        lines = [
            f"{name_} result.color[{n}]{DEFINED.get(name_, '')}, {SOURCES[ARBFP[name_].shape]};"
            for n, name_ in enumerate(mnemonics)
        ]
        head = "OPTION ARB_draw_buffers; ATTRIB a = fragment.texcoord[0]; TEMP R0;"
        text = program("SUB R0, a, {2, 0, 0, 0};", "KIL R0;", *lines, temporaries=head)
        targets = [texture(f"P{n}", *SIZE, RGBA32F) for n in range(len(lines))]
        pass_ = FragmentPass(
            text,
            (Binding(0, "T"),),
            tuple(target.name for target in targets),
            WHOLE,
            (fragment_texcoords(0, *SIZE),),
            (ParameterValue(0, (0.5, -1.5, 3.0, 2.0)),),
        )
        compared(show([pass_], targets[0], {"T": TEXELS}, also=targets[1:]), {"T": TEXELS}, name)


@EACH_EXECUTOR
def test_each_kind_of_pass(name: str) -> None:
    kinds = find_executor(name).capabilities.passes
    if FragmentPass in kinds:
        assert {CopyPass, ClearPass} <= kinds
        text = program(
            "TEX R0, fragment.texcoord[0], texture[0], RECT;", "MUL result.color, R0, 0.5;"
        )
        draw = FragmentPass(
            text,
            (Binding(0, "T"),),
            ("P",),
            WHOLE,
            (fragment_texcoords(0, *SIZE),),
            blend=ADD,
        )
        steps = (ClearPass("P", (1.0,) * 4), Repeat(3, (draw, CopyPass("P", WHOLE, "T", WHOLE))))
        compared(show(steps, texture("P", *SIZE, RGBA32F), {"T": TEXELS}), {"T": TEXELS}, name)
    if ComputePass in kinds:
        a, b = (np.arange(n, dtype=np.float32).reshape(s) for n, s in ((12, (3, 4)), (20, (4, 5))))
        plan = find_product("opengl-compute-tiled").plan(m=3, l=4, n=5)
        found = find_executor(name).run(plan, {"A": a, "B": b}).outputs["C"]
        assert np.array_equal(found, a @ b)
    assert kinds <= {FragmentPass, CopyPass, ClearPass, ComputePass}
