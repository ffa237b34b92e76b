"""What happens to fragments: values from GL 1.5, section 4.1, in float64, and by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from drawing import (
    assert_same_bits,
    draw,
    execute,
    program,
    show,
    texture,
)
from numpy.typing import NDArray

from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.plan.framebuffer import AlphaTest, Blend, Comparison, Equation, Factor, blend_of
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.plan.textures import FORMATS, R32F, RGBA32F, Rect

F64 = NDArray[np.float64]
LOCAL = program("MOV result.color, program.local[0];")

# Table 4.2 of GL 1.5: weights for R, G, B and A of the source, the destination and the constant.
WEIGHTS: Mapping[Factor, Callable[[F64, F64, F64], object]] = {
    Factor.ZERO: lambda s, d, c: 0.0, Factor.ONE: lambda s, d, c: 1.0,
    Factor.SRC_COLOR: lambda s, d, c: s, Factor.ONE_MINUS_SRC_COLOR: lambda s, d, c: 1 - s,
    Factor.DST_COLOR: lambda s, d, c: d, Factor.ONE_MINUS_DST_COLOR: lambda s, d, c: 1 - d,
    Factor.SRC_ALPHA: lambda s, d, c: s[3], Factor.ONE_MINUS_SRC_ALPHA: lambda s, d, c: 1 - s[3],
    Factor.DST_ALPHA: lambda s, d, c: d[3], Factor.ONE_MINUS_DST_ALPHA: lambda s, d, c: 1 - d[3],
    Factor.CONSTANT_COLOR: lambda s, d, c: c,
    Factor.ONE_MINUS_CONSTANT_COLOR: lambda s, d, c: 1 - c,
    Factor.CONSTANT_ALPHA: lambda s, d, c: c[3],
    Factor.ONE_MINUS_CONSTANT_ALPHA: lambda s, d, c: 1 - c[3],
    Factor.SRC_ALPHA_SATURATE: lambda s, d, c: np.array([*[min(s[3], 1 - d[3])] * 3, 1.0]),
}  # fmt: skip
SUMS: Mapping[Equation, Callable[[F64, F64], F64]] = {
    Equation.ADD: lambda s, d: s + d,
    Equation.SUBTRACT: lambda s, d: s - d,
    Equation.REVERSE_SUBTRACT: lambda s, d: d - s,
}
SOURCE, HELD, CONSTANT = (0.31, 0.87, -0.2, 0.62), (0.71, 0.12, 0.46, 0.27), (0.15, 0.8, 1.0, 0.35)


@pytest.mark.parametrize("name", ["rgba32f", "rg32f", "rgba8", "unorm16"])
@pytest.mark.parametrize("equation", Equation)
def test_every_factor_of_every_equation(equation: Equation, name: str) -> None:
    kept = FORMATS[name]
    s, d, c = (np.array(v, np.float64) for v in (SOURCE, HELD, CONSTANT))
    levels = 2**kept.bits_per_channel - 1
    fixed = kept.bits_per_channel < 32
    if fixed:
        s, d = (np.round(np.clip(v, 0, 1) * levels) / levels for v in (s, d))
    d[kept.channels :] = (0.0, 0.0, 0.0, 1.0)[kept.channels :]
    destinations = [factor for factor in Factor if factor is not Factor.SRC_ALPHA_SATURATE]
    for number, (source, weight) in enumerate(WEIGHTS.items()):
        destination = destinations[(3 * number + 1) % len(destinations)]  # each weighs by itself
        blend = Blend(equation, source, destination, CONSTANT)
        if equation in SUMS:
            sides = s * weight(s, d, c), d * WEIGHTS[destination](s, d, c)
            wanted = SUMS[equation](*sides)
        else:
            wanted = np.minimum(s, d) if equation is Equation.MIN else np.maximum(s, d)
        found = draw(LOCAL, (1, 1), target=kept, local={0: SOURCE}, initial=HELD, blend=blend)
        wanted = np.clip(wanted, 0, 1) if fixed else wanted
        error = 0.51 / levels if fixed else 2e-7
        np.testing.assert_allclose(found[0, 0], wanted[: kept.channels], 0, error, str(blend))


def test_a_blend_is_what_its_text_says() -> None:
    weighted = Blend(Equation.ADD, Factor.SRC_ALPHA, Factor.ONE_MINUS_SRC_ALPHA)
    assert blend_of("add,src-alpha,one-minus-src-alpha") == weighted
    assert blend_of("max") == Blend(Equation.MAX) and blend_of("none") is None
    for blend in (weighted, Blend(Equation.MIN, constant=(0.1, 0.2, 0.3, 0.4))):
        assert blend_of(blend.text) == blend


# A comparison, and whether alphas of 0.25, 0.5 and 0.75 pass against 0.5. No number passes nothing.
PASSES = {"less": "100", "lequal": "110", "equal": "010", "notequal": "101", "gequal": "011",
          "greater": "001"}  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_the_alpha_of_the_first_colour_decides_for_all(name: str) -> None:
    text = program(
        "MOV R0, fragment.position.x; MUL R0, R0, 0.25; ADD R0, R0, 0.125;",
        "MOV result.color[0], R0; MOV result.color[1], 1;",
        temporaries="OPTION ARB_draw_buffers; TEMP R0;",
    )
    test = AlphaTest(Comparison(name), 0.5)
    pass_ = FragmentPass(text, (), ("A", "B"), Rect(0, 0, 3, 1), alpha_test=test)
    first, second = (texture(n, 3, 1, RGBA32F, (9.0,) * 4) for n in "AB")
    for shown, wanted in ((first, (0.25, 0.5, 0.75)), (second, (1.0,) * 3)):
        others = {first, second} - {shown}
        drawn = execute(show([pass_], shown, others=tuple(others)))[0, :, 0]
        expected = [v if p == "1" else 9.0 for v, p in zip(wanted, PASSES[name], strict=True)]
        assert drawn.tolist() == expected


def test_no_number_passes_no_alpha_test_and_fixed_point_clamps_before() -> None:
    nan = program("RSQ R0, {0}.x; MUL R0, R0, 0; MOV result.color, R0.x;")
    for comparison in Comparison:
        test = AlphaTest(comparison, 0.0)
        target = texture("T", 1, 1, R32F, (3.0, 0.0, 0.0, 0.0))
        pass_ = FragmentPass(nan, (), ("T",), Rect(0, 0, 1, 1), alpha_test=test)
        assert execute(show([pass_], target))[0, 0, 0] == 3
    high = program("MOV result.color, 2;")
    for name, kept in (("unorm8", 1.0), ("r32f", 0.0)):  # 2 and its reference are 1, or stay
        pass_ = FragmentPass(high, (), ("T",), Rect(0, 0, 1, 1),
                             alpha_test=AlphaTest(Comparison.EQUAL, 5.0))  # fmt: skip
        assert execute(show([pass_], texture("T", 1, 1, FORMATS[name])))[0, 0, 0] == kept


def scissored() -> tuple[Plan, FragmentPass]:
    text = program("ADD result.color, fragment.position.xyxx, {10, 20, 30, 40};")
    pass_ = FragmentPass(
        text, (), ("T",), Rect(1, 1, 4, 3), mask="ga", scissor=Rect(0, 2, 3, 9),
        blend=Blend(Equation.MAX),
    )  # fmt: skip
    return show([pass_], texture("T", 6, 5, RGBA32F, (1.0, 2.0, 3.0, 45.0))), pass_


def test_the_mask_and_the_scissor_leave_what_is_outside() -> None:
    plan, pass_ = scissored()
    expected = np.full((5, 6, 4), (1.0, 2.0, 3.0, 45.0), np.float32)
    expected[2:4, 1:3, 1] = [[22.5], [23.5]]  # rows 2 and 3 of columns 1 and 2
    expected[2:4, 1:3, 3] = 45
    assert_same_bits(execute(plan), expected)
    assert pass_.drawn == Rect(1, 2, 2, 2)
    counts = count_plan(plan)
    assert (counts.fragments, counts.blend, counts.arithmetic) == (4, 4, 8)
    assert counts.bytes_requested == 4 * 2 * 16


def test_a_scissor_that_leaves_nothing_is_refused_in_a_line() -> None:
    none = FragmentPass(LOCAL, (), ("T",), Rect(1, 1, 4, 3), scissor=Rect(5, 0, 1, 5))
    with pytest.raises(PlanError, match="the scissor leaves nothing of the pass to T"):
        show([none], texture("T", 6, 5, RGBA32F))
