"""Exact runs on OpenGL: what has the reference machine's bits, and what is refused.

Quotients and roots have them on every driver, since GLSL rounds what is computed in double once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from drawing import (
    EXACT,
    F32,
    Image,
    assert_same_bits,
    draw,
    draw_all,
    on,
    program,
    show,
    texture,
)
from framebuffers import TARGETS

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.plan.textures import R32F, RGBA32F, UNORM8, Rect
from gpgpu_legacy.runtime.exactness import INSTRUCTIONS, inexact_among
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.prepared import RunResult

NUMPY = find_executor("numpy")

# What ARB_fragment_program says to "approximate", but for quotients and roots; and fog by EX2.
APPROXIMATE = {"COS", "EX2", "LG2", "LIT", "POW", "SCS", "SIN", "ARB_fog_exp", "ARB_fog_exp2"}


def copied(result: RunResult) -> RunResult:
    return replace(result, outputs={name: m.copy() for name, m in result.outputs.items()})


@on("gl-raster", "gl-compute")
def test_only_approximations_are_refused(name: str, ready: Callable[[str], Executor]) -> None:
    executor = ready(name)
    blends = {f"blends add into {name}" for name in TARGETS}
    framebuffers = blends if name == "gl-raster" else set[str]()
    assert executor.inexact_among(INSTRUCTIONS) <= APPROXIMATE | framebuffers
    forms = Form.COMPONENTWISE, Form.SCALAR, Form.VECTOR
    computing = {row.mnemonic for row in OPCODES.values() if row.form in forms}
    fogs = {"ARB_fog_exp", "ARB_fog_exp2", "ARB_fog_linear"}
    assert computing | fogs | blends == INSTRUCTIONS


@on("gl-raster", "gl-compute")
def test_quotients_and_roots_have_the_reference_machines_bits(
    name: str, ready: Callable[[str], Executor]
) -> None:
    """Of numbers whose quotients and roots are no denormals, at all exponents."""
    rng, side = np.random.default_rng(31), 512
    bits = rng.integers(0, 1 << 23, (2, side, side, 4), dtype=np.uint32)
    bits |= rng.integers(2, 253, bits.shape, dtype=np.uint32) << 23
    bits |= rng.integers(0, 2, bits.shape, dtype=np.uint32) << 31
    numbers = bits.view(np.float32)
    text = program(
        "TEX R0, fragment.position, texture[0], RECT;",
        "TEX R1, fragment.position, texture[1], RECT;",
        *(f"RCP result.color[0].{c}, R0.{c};" for c in "xyzw"),
        *(f"RSQ result.color[1].{c}, R1.{c};" for c in "xyzw"),
        temporaries="OPTION ARB_draw_buffers; TEMP R0, R1;",
    )
    textures, targets = dict(enumerate(numbers)), (RGBA32F, RGBA32F)
    reciprocals, roots = draw_all(
        *(text, (side, side)), textures=textures, targets=targets, executor=ready(name)
    )
    one = np.float32(1)
    assert_same_bits(reciprocals, one / numbers[0])
    assert_same_bits(roots, one / np.sqrt(np.abs(numbers[1])))


@pytest.mark.parametrize("exact", [False, True])
@on("gl-raster", "gl-compute", "jit")
def test_every_level_of_8_bits_is_the_nearest_float(
    name: str, exact: bool, ready: Callable[[str], Executor]
) -> None:
    """Looked up, and drawn to 8 bits again; a float texture shows what the first lookup gave."""
    expected = (np.arange(256) / 255).astype(np.float32).reshape(1, 256, 1)
    text = program("TEX result.color, fragment.position, texture[0], RECT;")
    machine = replace(EXACT, exact=exact)
    for target in (R32F, UNORM8):
        levels = Image(expected, format=UNORM8)
        found = draw(
            *(text, (256, 1)), textures={0: levels}, target=target, machine=machine,
            executor=ready(name),
        )  # fmt: skip
        if exact or target is UNORM8:
            assert_same_bits(found, expected)
        else:
            np.testing.assert_allclose(found, expected, 2.0**-23)


@on("gl-raster", "gl-compute")
def test_a_program_of_an_approximation_is_refused_in_a_line(
    name: str, ready: Callable[[str], Executor], monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = ready(name)
    monkeypatch.setattr(executor, "inexact_among", lambda names: names & APPROXIMATE)
    text = program("EX2 R0, fragment.position.x;", "SIN result.color, R0.x;")
    drawing = FragmentPass(text, (), ("target",), Rect(0, 0, 2, 2))
    plan = show([drawing], texture("target", 2, 2, RGBA32F))
    with pytest.raises(PlanError) as refused:
        executor.prepare(plan, EXACT)
    message = str(refused.value)
    assert "\n" not in message
    assert "for the bits of EX2 and SIN are those of" in message
    assert "exactly on numpy or jit" in message
    assert executor.why_inexact(plan, EXACT)


def test_an_instruction_that_is_wrong_in_one_bit_is_found() -> None:
    """Where one output of many has one other bit, of the instruction that computes it alone."""
    names = frozenset({"ADD", "MAD", "MUL", "RCP", "SUB", "ARB_fog_linear"})

    def wrong(plan: Plan, operands: Mapping[str, F32]) -> RunResult:
        result = copied(NUMPY.run(plan, operands))
        for pass_ in plan.only(FragmentPass):
            if any(i.mnemonic == "MUL" for i in pass_.program.instructions):
                result.outputs[pass_.targets[0]].view(np.uint32)[3, 4] ^= 1
        return result

    assert inexact_among(names, NUMPY.run, NUMPY.run) == frozenset()
    assert inexact_among(names, wrong, NUMPY.run) == {"MUL"}
    assert inexact_among(frozenset({"TEX", "KIL", "ADD"}), wrong, NUMPY.run) == frozenset()
