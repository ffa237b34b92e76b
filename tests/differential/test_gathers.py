"""Textures that dependent lookups gather, on jit: the reference machine's bits, however laid out.

Such a texture has its channels side by side, and other lookups of the same texture find its texels
there, too: the fragment's own, those of neighbours beyond the edge, those of a row or a column.
"""

from __future__ import annotations

import numpy as np
import pytest
from drawing import EXACT, assert_same_bits
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.lower.analysis.fusion import all_fused, fused_steps
from gpgpu_legacy.lower.fused.content import gathered_textures
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import find_executor

JIT, NUMPY = find_executor("jit"), find_executor("numpy")

# Lookups that are affine in the fragment's place: what each adds to the sum.
AFFINE = {
    "own": "fragment.position",
    "a neighbour": "near",
    "of the column": "column",
    "of the row": "row",
    "every second": "twice",
}


def plan_of(width: int, height: int, wanted: list[str], how: str, texel_format: str) -> Plan:
    """A texel that two dependent lookups find, one after another, and what affine ones find."""
    p = PlanBuilder("gather")
    texels = p.input("texels", height, width, packing="image", format=texel_format)
    target = p.texture("target", width, height, format="rgba32f")
    lines = ["!!ARBfp1.0", "TEMP sum, texel, at, near, column, row, twice;",
             "ADD near, fragment.position, { -2, 3, 0, 0 };",
             "MOV column, fragment.position; MOV column.y, 1.5;",
             "MOV row, fragment.position; MOV row.x, 0.5;",
             "MUL twice, fragment.position, 2;",
             "MUL at, fragment.position.yxzw, fragment.position.yxzw;",
             "TEX sum, at, texture[0], RECT;"]  # fmt: skip
    lines += [f"MUL at, sum, {{ {width}, {height}, 0, 0 }};",
              "TEX texel, at, texture[0], RECT;",
              "MAD sum, sum, 0.5, texel;"]  # fmt: skip
    for name in wanted:
        lines += [f"TEX texel, {AFFINE[name]}, texture[0], RECT;",
                  "MAD sum, sum.yzwx, 0.5, texel;"]  # fmt: skip
    p.draw("\n".join([*lines, "MOV result.color, sum;", "END"]), {0: (texels, how)}, into=target)
    p.output("target", target)
    return p.plan()


@settings(max_examples=15)
@given(
    st.integers(1, 45), st.integers(1, 21), st.lists(st.sampled_from(list(AFFINE)), max_size=4),
    st.sampled_from(["GL_NEAREST", "GL_LINEAR"]), st.sampled_from(["rgba32f", "rgba16f", "rgba8"]),
)  # fmt: skip
def test_gathered_textures_are_read_alike(
    width: int, height: int, wanted: list[str], how: str, texel_format: str
) -> None:
    plan = plan_of(width, height, wanted, how, texel_format)
    texels = np.random.default_rng(2).random((height, width, 4), np.float32)
    operands = {m.name: texels.reshape(m.rows, m.columns) for m in plan.operands}
    expected = NUMPY.run(plan, operands).outputs["target"]
    assert_same_bits(JIT.run(plan, operands, EXACT).outputs["target"], expected)


def test_a_texture_that_is_gathered_has_its_channels_side_by_side() -> None:
    plan = plan_of(9, 7, [], "GL_NEAREST", "rgba32f")
    assert gathered_textures(all_fused(tuple(fused_steps(plan))), plan) == {"texels"}


@pytest.mark.parametrize(
    ("texel_format", "wanted"), [("rgba16f", []), ("rgba8", []), ("rgba32f", ["own"])]
)
def test_other_formats_and_textures_that_are_read_in_rows_keep_their_planes(
    texel_format: str, wanted: list[str]
) -> None:
    plan = plan_of(9, 7, wanted, "GL_NEAREST", texel_format)
    assert not gathered_textures(all_fused(tuple(fused_steps(plan))), plan)
