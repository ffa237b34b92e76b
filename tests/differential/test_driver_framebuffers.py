"""Blends, masks, scissors and alpha tests, against the GL driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from departures import driver_of
from drawing import assert_same_bits, carry_out_all, draw, on, program, show, texture

from gpgpu_legacy.plan.framebuffer import AlphaTest, Blend, Comparison, Equation, Factor
from gpgpu_legacy.plan.plan import ClearPass, FragmentPass
from gpgpu_legacy.plan.textures import FORMATS, Rect
from gpgpu_legacy.runtime.executor import Executor

Ready = Callable[[str], Executor]


@pytest.mark.gl
@pytest.mark.parametrize("name", ["rgba32f", "rg32f", "r32f", "rgba8"])
@pytest.mark.parametrize("equation", Equation)
def test_every_blend(ready: Ready, equation: Equation, name: str) -> None:
    """GL leaves its precision open: 8 bits have a level more, and sums of floats an ulp of 4.

    llvmpipe computes s·a + d·(1 - a) in r32f as (s - d)·a + d.
    """
    place = program("MUL result.color, fragment.position.xyyx, {0.11, 0.07, 0.19, 0.1};")
    error = 2.01 / 255 if name == "rgba8" else 2.0**-21
    for source in Factor:
        for destination in (Factor.ONE, Factor.ONE_MINUS_SRC_ALPHA, Factor.DST_COLOR):
            blend = Blend(equation, source, destination, (0.2, 0.4, 0.6, 0.8))
            how: dict[str, Any] = {
                "target": FORMATS[name],
                "initial": (0.3, 0.9, 0.5, 0.4),
                "blend": blend,
            }
            expected, found = (
                draw(place, (8, 6), **how, executor=e) for e in (None, ready("gl-arbfp"))
            )
            np.testing.assert_allclose(found, expected, 0, error, err_msg=blend.text)


@on("numpy", "jit", "gl-arbfp", "gl-compute", "gl-raster")
def test_of_equals_and_nan_min_and_max_are_the_destination(ready: Ready, name: str) -> None:
    """GL's min and max have no order of their operands, and its 2.1.1 leaves NaN open."""
    executor, drawn = ready(name), np.array([[[0.0], [-0.0], [np.nan]]], np.float32)
    if name.startswith("gl-") and not driver_of(executor).keeps_order:
        pytest.skip("the driver's own choice is not known")
    text = program("TEX R0, fragment.position, texture[0], RECT;", "MOV result.color, R0.x;")
    for held, equation in product((0.0, -0.0), (Equation.MIN, Equation.MAX)):
        found = draw(text, (3, 1), textures={0: drawn}, initial=(held,) * 4,
                     blend=Blend(equation), executor=executor)  # fmt: skip
        assert_same_bits(found, np.full((1, 3, 4), held, np.float32))


@pytest.mark.gl
@pytest.mark.parametrize("comparison", Comparison)
def test_the_alpha_test_the_mask_and_the_scissor(ready: Ready, comparison: Comparison) -> None:
    """Alphas are eighths, so that all machines have the same; a clear afterwards obeys none."""
    place = program("MUL result.color, fragment.position, 0.125;",
                    "SUB result.color.w, fragment.position.x, 3.5;")  # fmt: skip
    for name, mask in product(("rgba32f", "rgba8"), ("rgba", "rb", "a")):
        target = texture("P", 8, 6, FORMATS[name], (0.25, 0.5, 0.75, 1.0))
        tested = FragmentPass(
            place, (), ("P",), Rect(1, 0, 6, 6), mask=mask, scissor=Rect(0, 1, 5, 3),
            alpha_test=AlphaTest(comparison, 1.0),
        )  # fmt: skip
        after = FragmentPass(place, (), ("Q",), Rect(0, 0, 8, 6))
        steps = [tested, ClearPass("Q", (0.5,) * 4), replace(after, rect=Rect(2, 2, 1, 1))]
        plan = show(steps, target, also=[texture("Q", 8, 6, FORMATS[name])])
        for found, expected in zip(
            carry_out_all(plan, executor=ready("gl-arbfp")), carry_out_all(plan), strict=True
        ):
            np.testing.assert_allclose(found, expected, 0, 1.01 / 255)
