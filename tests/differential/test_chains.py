"""Passes of few fragments in one work group, as a GPU runs them, against the NumPy machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from drawing import EXACT, Made, as_exact_as_it_can, assert_same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import plans
from test_until import LOOPS, Case, looped

from gpgpu_legacy import find
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.executors import gl_compute as gl_compute_executor
from gpgpu_legacy.runtime.gl import compute as gl_compute
from gpgpu_legacy.runtime.prepared import RunResult

COMPUTE, NUMPY = gl_compute_executor.EXECUTOR, find_executor("numpy")
pytestmark = pytest.mark.gl


@pytest.fixture(scope="module", autouse=True)
def _chains() -> Iterator[None]:
    """Chains as on a GPU."""
    of_driver = gl_compute._device
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gl_compute, "_device", lambda *a: replace(of_driver(*a), chains=True))
        yield


def run(plan: Plan, **operands: object) -> RunResult:
    return COMPUTE.run(plan, operands, as_exact_as_it_can(COMPUTE, plan))


@settings(max_examples=LOOPS)
@given(case=st.composite(Case)(), seed=st.integers(0, 99))
def test_loops_end_as_in_python(case: Case, seed: int) -> None:
    x = np.random.default_rng(seed).random((4, 4), np.float32)
    wanted, ran = case.expected(x)
    result = run(case.plan(), x=x)
    assert [end.iterations for end in result.untils][case.outer_until :] == ran
    for output, values in wanted.items():
        assert (result.outputs[output] == values).all(), output


@settings(max_examples=LOOPS)
@given(made=plans(tame=True), iterations=st.integers(0, 40))
def test_any_plan_in_a_loop_runs_as_on_numpy(made: Made, iterations: int) -> None:
    plan = looped(made.plan, iterations)
    machine = as_exact_as_it_can(COMPUTE, plan)
    result, wanted = (e.run(plan, made.operands, machine) for e in (COMPUTE, NUMPY))
    assert result.untils == wanted.untils
    for output, values in wanted.outputs.items():
        np.testing.assert_array_equal(result.outputs[output], values)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("conjugate-gradient", {"n": 7}),
        ("conjugate-gradient", {"n": 6, "matrix": "rows"}),
        ("conjugate-gradient", {"n": 9, "every": 3}),
        ("prefix-sum", {"n": 1500}),
        ("bitonic-sort", {"n": 16}),
        ("fluid", {"n": 12, "steps": 2, "passes": 3}),
    ],
)
def test_algorithms_have_the_reference_machines_bits(name: str, parameters: dict[str, int]) -> None:
    p = find(name, **parameters)
    plan, operands = p.plan(), p.inputs(seed=5)
    result, wanted = (e.run(plan, operands, EXACT) for e in (COMPUTE, NUMPY))
    assert result.untils == wanted.untils
    for output, values in wanted.outputs.items():
        assert_same_bits(result.outputs[output], values)


def test_a_condition_that_becomes_nan_on_the_way_is_an_error() -> None:
    """x doubles until it is infinite, and then there is NaN, long after the device was asked."""
    p = PlanBuilder("nan")
    x, y = p.input("x", 1, 1), p.texture("y", 1, 1)
    double = "!!ARBfp1.0\nTEMP r;\nTEX r, fragment.position, texture[0], RECT;\n{}\nEND"
    with p.repeat(until=x, below=0.0, at_most=999):
        p.draw(double.format("ADD result.color, r, r;"), {0: x}, into=y)
        p.draw(double.format("MUL r.y, r.x, 0.0; ADD result.color, r.x, r.y;"), {0: y}, into=x)
    p.output("x", x)
    with pytest.raises(InputError, match="texel of x is NaN after 119 iterations"):
        run(p.plan(), x=np.full((1, 1), 1e3, np.float32))
