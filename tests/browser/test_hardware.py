"""What the page promises on any GPU, on that of this machine, where BROWSER_GPU=1 asks for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from browser_pages import Modules, Opener
from drawing import EXACT, assert_same_bits
from interpreted import DRAWN, Interpreted
from playwright.sync_api import expect
from products import (
    METHODS_AND_WAYS,
    assert_within_the_bound,
    plan_of,
    random_operands,
    whole_operands,
)

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.page.scenes import PLAYER
from gpgpu_legacy.runtime.executor import find_executor

pytestmark = pytest.mark.skipif(
    os.environ.get("BROWSER_GPU") != "1", reason="BROWSER_GPU=1 asks for the GPU of this machine"
)
NUMPY = find_executor("numpy")
SHAPES = ((5, 7, 3), (33, 20, 18))


@pytest.fixture
def renderer() -> str:
    return "hardware"


@pytest.mark.parametrize("sized", [False, True], ids=["any-size", "sized"])
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_products(
    modules: Callable[..., Modules], method: Algorithm, way: Accumulate | None, sized: bool
) -> None:
    """Of integers the bits of numpy; each rounding of other sums counts, in any order."""
    drawn = Interpreted(modules(*PLAYER), DRAWN, sized=sized)
    for shape in SHAPES:
        plan = plan_of(method, shape, way, block=3)
        whole, others = whole_operands(plan), random_operands(plan)
        expected = NUMPY.run(plan, whole, EXACT).outputs["C"]
        assert_same_bits(drawn.run(plan, whole).outputs["C"], expected)
        found = drawn.run(plan, others).outputs["C"]
        assert_within_the_bound(found, others["A"], others["B"], plan.pass_count)


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
    plan = find_algorithm(name).plan(**parameters)
    operands = random_operands(plan)
    expected = NUMPY.run(plan, operands, EXACT).outputs
    found = Interpreted(modules(*PLAYER), DRAWN).run(plan, operands).outputs
    for matrix in plan.results:
        assert_same_bits(found[matrix.name], expected[matrix.name])


def test_the_page_times_this_gpu_and_finds_its_products_right(open_page: Opener) -> None:
    page = open_page("your-gpu")
    page.get_by_role("button", name="Start").click()
    progress = page.locator(".yours-progress")
    expect(progress).to_contain_text("Done. This is ", timeout=120_000)
    words = progress.inner_text().lower()
    assert "llvmpipe" not in words and "swiftshader" not in words
    checked = page.locator("#your-gpu .screen [aria-label*=times] tbody tr").all_inner_texts()
    assert len(checked) == 12 and all("none beyond the rounding bound" in row for row in checked)
