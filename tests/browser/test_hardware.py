"""What the page promises on any GPU, on that of this machine, where BROWSER_GPU=1 asks for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from browser_pages import Modules, Opener
from drawing import EXACT, assert_same_bits
from interpreted import DRAWN, Interpreted
from playwright.sync_api import expect
from products import F32, METHODS_AND_WAYS, options_of, plan_of, random_operands, whole_operands

from gpgpu_legacy.api.pipeline import Pipeline
from gpgpu_legacy.page.scenes import PLAYER
from gpgpu_legacy.page.sections import section_of
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.registry import find_executor

pytestmark = pytest.mark.skipif(
    os.environ.get("BROWSER_GPU") != "1", reason="BROWSER_GPU=1 asks for the GPU of this machine"
)
NUMPY = find_executor("numpy")
SHAPES = ((5, 7, 3), (33, 20, 18))


@pytest.fixture
def renderer() -> str:
    return "hardware"


def all_products(
    operands_of: Callable[[Plan], dict[str, F32]],
) -> list[tuple[Plan, dict[str, F32]]]:
    """Products of every method and way to accumulate, with their operands."""
    plans = [
        plan_of(method, shape, options_of(method, way, block=3))
        for method, way in (case.values for case in METHODS_AND_WAYS)
        for shape in SHAPES
    ]
    return [(plan, operands_of(plan)) for plan in plans]


@pytest.mark.parametrize("sized", [False, True], ids=["any-size", "sized"])
def test_products_of_integers_have_the_bits_of_numpy(
    modules: Callable[..., Modules], sized: bool
) -> None:
    drawn = Interpreted(modules(*PLAYER), DRAWN, sized=sized)
    for plan, operands in all_products(whole_operands):
        expected = NUMPY.run(plan, operands, EXACT).outputs["C"]
        assert_same_bits(drawn.run(plan, operands).outputs["C"], expected)


@pytest.mark.parametrize("sized", [False, True], ids=["any-size", "sized"])
def test_products_are_within_the_rounding_bound(
    modules: Callable[..., Modules], sized: bool
) -> None:
    """Each rounding of a sum of l products counts, in any order, contracted or not."""
    drawn = Interpreted(modules(*PLAYER), DRAWN, sized=sized)
    for plan, operands in all_products(random_operands):
        a, b = operands["A"].astype(np.float64), operands["B"].astype(np.float64)
        found = drawn.run(plan, operands).outputs["C"]
        bound = (a.shape[1] + plan.pass_count + 2) * 2.0**-24 * (np.abs(a) @ np.abs(b))
        assert (np.abs(found - a @ b) <= bound).all(), plan.name


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("life", {"width": 8, "height": 16, "generations": 4}),
        ("reduction", {"n": 11, "operation": "max"}),
        ("bitonic-sort", {"n": 128}),
    ],
)
def test_what_no_rounding_changes_has_the_bits_of_numpy(
    modules: Callable[..., Modules], name: str, parameters: dict[str, Any]
) -> None:
    plan = Pipeline.find(name, **parameters).plan()
    operands = random_operands(plan)
    expected = NUMPY.run(plan, operands, EXACT).outputs
    found = Interpreted(modules(*PLAYER), DRAWN).run(plan, operands).outputs
    for matrix in plan.results:
        assert_same_bits(found[matrix.name], expected[matrix.name])


def test_the_page_times_this_gpu_and_finds_its_products_right(open_page: Opener) -> None:
    page = open_page([section_of("your-gpu")])
    page.get_by_role("button", name="Start").click()
    progress = page.locator(".yours-progress")
    expect(progress).to_contain_text("Done. This is ", timeout=120_000)
    words = progress.inner_text().lower()
    assert "llvmpipe" not in words and "swiftshader" not in words
    checked = page.locator(".yours-live tbody tr").all_inner_texts()
    assert len(checked) == 12 and all("none beyond the rounding bound" in row for row in checked)
