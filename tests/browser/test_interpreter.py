"""The interpreter of the page against the reference machine: programs, plans and products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from browser_pages import Modules
from drawing import EXACT, assert_same_bits, carry_out_all, draw_all
from hypothesis import HealthCheck, given, settings
from interpreted import Interpreted
from plans import Made, plans
from products import METHODS_AND_WAYS, options_of, plan_of, random_operands
from random_programs import INEXACT, SIZE, random_batch

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.page.scenes import INTERPRETER
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.runtime.registry import find_executor

NUMPY = find_executor("numpy")
IN_ONE_PAGE = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def interpreted(modules: Callable[..., Modules]) -> Interpreted:
    return Interpreted(modules(*INTERPRETER))


def test_random_programs(interpreted: Interpreted) -> None:
    for number in range(60):
        batch = random_batch(f"page {number}")
        drawn = {"size": SIZE, "targets": (RGBA32F,) * batch.targets, **batch.given}
        expected = draw_all(batch.program, executor=NUMPY, **drawn)
        found = draw_all(batch.program, executor=interpreted, **drawn)
        for part in batch.parts:
            if part.inexact:
                relative, absolute = INEXACT[part.inexact]
                np.testing.assert_allclose(
                    found[part.number], expected[part.number], relative, absolute, str(batch)
                )
            else:
                assert_same_bits(found[part.number], expected[part.number])


@IN_ONE_PAGE
@given(plans())
def test_random_plans(interpreted: Interpreted, made: Made) -> None:
    expected = carry_out_all(made.plan, made.given, NUMPY)
    found = carry_out_all(made.plan, made.given, interpreted)
    for mine, theirs in zip(found, expected, strict=True):
        assert_same_bits(mine, theirs)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_products(interpreted: Interpreted, method: Method, way: Accumulate | None) -> None:
    options = options_of(method, way, block=3)
    for shape in ((1, 1, 1), (5, 7, 3), (8, 8, 8)):
        plan = plan_of(method, shape, options)
        operands = random_operands(plan)
        expected = NUMPY.run(plan, operands, EXACT).outputs
        assert_same_bits(interpreted.run(plan, operands).outputs["C"], expected["C"])
