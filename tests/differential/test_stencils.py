"""Lookups of neighbours on gl-compute, where fragments of an invocation share them.

The reference machine computes each fragment by itself, so it is the oracle; results are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from drawing import EXACT, assert_same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from products import F32

from gpgpu_legacy.lower.workgroups import GroupShape, Multiprocessors
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime import gl_compute
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl_fragments import Device
from gpgpu_legacy.runtime.machine import Machine, Tuning
from gpgpu_legacy.runtime.registry import find_executor

pytestmark = pytest.mark.gl

NUMPY = find_executor("numpy")

SHAPES = {
    "usual": None,
    "blocks of neighbours": GroupShape((2, 4), 4, 2, 0, 1, 2),
    "apart": GroupShape((4, 2), 3, 2, 0, 1, 1),
    "a column": GroupShape((8, 2), 1, 4, 0, 1, 4),
}
CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


@dataclass(frozen=True)
class Stencil:
    """The sum of texels at offsets, weighted, and of a second texture's own one; some passes.

    slopes: how many texels right and up a lookup moves with each column, and with each row.
    """

    width: int
    height: int
    offsets: list[tuple[int, int]]
    slopes: tuple[tuple[int, int], tuple[int, int]]
    texel_format: str
    passes: int

    def first(self) -> F32:
        return np.random.default_rng(3).random((self.height, self.width, 4), np.float32)


def plan_of_a(stencil: Stencil) -> Plan:
    width, height, texel_format = stencil.width, stencil.height, stencil.texel_format
    p = PlanBuilder("stencil")
    first = p.input("first", height, width, packing="image")
    x, y = (p.texture(name, width, height, format=texel_format) for name in "xy")
    p.draw("!!ARBfp1.0 TEX result.color, fragment.position, texture[0], RECT; END",
           {0: first}, into=x)  # fmt: skip
    (right, right_up), (up_right, up) = stencil.slopes
    lines = ["!!ARBfp1.0", "TEMP sum, texel, at;"]
    lines += ["TEX sum, fragment.position, texture[1], RECT;"]
    for number, (dx, dy) in enumerate(stencil.offsets):
        lines += [
            f"ADD at, fragment.texcoord[0], {{ {dx}, {dy}, 0, 0 }};",
            "TEX texel, at, texture[0], RECT;",
            f"MAD sum, texel, {0.125 + number / 64}, sum;",
        ]
    text = "\n".join([*lines, "MUL result.color, sum, 0.5;", "END"])
    corners = [
        (
            0.5 + right * (cx * width - 0.5) + up_right * (cy * height - 0.5),
            0.5 + right_up * (cx * width - 0.5) + up * (cy * height - 0.5),
        )
        for cx, cy in CORNERS
    ]
    with p.repeat(stencil.passes):
        p.draw(text, {0: x, 1: first}, into=y, texcoords={0: corners})
        p.swap(x, y)
    p.output("x", x)
    return p.plan()


STENCILS = st.builds(
    Stencil,
    st.integers(1, 19),
    st.integers(1, 19),
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=9),
    st.sampled_from([((1, 0), (0, 1)), ((0, 1), (1, 0)), ((2, 0), (0, 1)), ((1, 1), (0, 1))]),
    st.sampled_from(["r32f", "rgba32f"]),
    st.integers(1, 3),
)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
@settings(max_examples=6)
@given(STENCILS)
def test_a_stencil_is_the_same_with_texels_shared(
    shape: GroupShape | None, stencil: Stencil
) -> None:
    machine = EXACT if shape is None else replace(EXACT, tuning=Tuning(group=shape))
    assert_as_the_reference(find_executor("gl-compute"), stencil, machine)


def assert_as_the_reference(compute: Executor, stencil: Stencil, machine: Machine) -> None:
    plan = plan_of_a(stencil)
    operands = {m.name: stencil.first().reshape(m.rows, m.columns) for m in plan.operands}
    found = compute.run(plan, operands, machine).outputs["x"]
    assert_same_bits(found, NUMPY.run(plan, operands).outputs["x"])


@pytest.mark.parametrize("fetches", [False, True])
def test_textures_are_read_as_buffers_or_as_buffer_textures(
    ready: Callable[[str], Executor], monkeypatch: pytest.MonkeyPatch, fetches: bool
) -> None:
    compute = ready("gl-compute")
    device = Device(32 << 10, 8, Multiprocessors(), 60_000, fetches=fetches)
    monkeypatch.setattr(gl_compute, "_device", lambda *_: device)
    cross = [(0, 1), (0, -1), (1, 0), (-1, 0)]
    for texel_format in ("r32f", "rgba32f"):
        stencil = Stencil(33, 17, cross, ((1, 0), (0, 1)), texel_format, 4)
        assert_as_the_reference(compute, stencil, EXACT)
