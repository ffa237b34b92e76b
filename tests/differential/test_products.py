"""Products by every method on every executor that runs it.

Exact runs against the reference machine bit for bit, and all runs where the sums of whole numbers
are exact in any order; of other numbers against float64, within the bound of sequential sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from departures import LLVMPIPE, driver_of
from drawing import EXACT, as_exact_as_it_can, assert_same_bits, on
from products import (
    as_multiplied,
    assert_within_the_bound,
    eight_bit_product,
    fragment_methods,
    in_turn,
    plan_of,
    random_operands,
    whole_operands,
)

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product, products
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.machine import Machine, Tuning

Ready = Callable[[str], Executor]
Case = tuple[tuple[int, int, int], Mapping[str, Any]]

NUMPY = find_executor("numpy")
LARSON = find_product("larson-mcallister")


exactly = on("jit", "gl-raster", "gl-compute")
drawing = on("jit", "gl-raster", "gl-compute", "gl-arbfp")
dispatching = on("jit", "gl-compute")


QUICKLY_COMPILED = Tuning(group=GroupShape((8, 8), 1, 1, 0, 1))
"""A fragment an invocation; test_gl_compute.py has work groups of other shapes."""


def assert_agrees(
    executor: Executor, plan: Plan, tuning: Tuning | None = None, **more: Any
) -> None:
    passes = sum(times for times, _ in plan.weighted_passes())
    whole, others = whole_operands(plan), random_operands(plan, 11)
    for mode in dict.fromkeys((as_exact_as_it_can(executor, plan), Machine())):
        machine = replace(mode, tuning=tuning)
        with executor.prepare(plan, machine) as prepared:
            found = prepared.run(whole).outputs["C"]
            np.testing.assert_array_equal(found, NUMPY.run(plan, whole).outputs["C"])
            found = prepared.run(others).outputs["C"]
            if machine.exact:
                assert_same_bits(found, NUMPY.run(plan, others, EXACT).outputs["C"])
            assert_within_the_bound(found, *as_multiplied(others, **more), passes)


# Drawn -------------------------------------------------------------------------------------------

DRAWN: Sequence[Case] = [
    ((1, 1, 1), {}),
    ((13, 22, 17), {"transpose_a": True}),
    ((9, 4, 11), {"block": 2, "transpose_b": True, "largest_texture": 9}),
    ((150, 16, 130), {"block": 8, "tile": None}),  # drawn in several bins and threads
]


@pytest.mark.parametrize(("method", "way", "case"), in_turn(DRAWN))
@drawing
def test_drawn_products(
    ready: Ready, name: str, method: Algorithm, way: Accumulate | None, case: Case
) -> None:
    shape, more = case
    plan = plan_of(method, shape, way, **more)
    sides = max(max(t.extent.width, t.extent.height) for t in plan.textures)
    assert sides <= more.get("largest_texture", 150)
    is_in_tiles = "tile" in method.parameters and "tile" not in more
    assert_agrees(ready(name), plan, QUICKLY_COMPILED if is_in_tiles else None, **more)


@pytest.mark.parametrize(("method", "way", "shape"), in_turn([(5, 6, 4)]))
@exactly
def test_what_is_not_finite(
    ready: Ready, name: str, method: Algorithm, way: Accumulate | None, shape: tuple[int, int, int]
) -> None:
    """Looped and written out."""
    plan = plan_of(method, shape, way, block=2)
    operands = random_operands(plan)
    operands["A"][0, 3], operands["A"][2, 5] = np.nan, np.inf
    operands["B"][1, 0], operands["B"][5, 3] = -np.inf, 0.0
    expected = NUMPY.run(plan, operands, EXACT).outputs["C"]
    assert np.isnan(expected).any() and np.isinf(expected).any()
    for each in (plan, expand(plan)):
        assert_same_bits(ready(name).run(each, operands, EXACT).outputs["C"], expected)


@pytest.mark.parametrize("high", [1.0, 0.3, 0.05], ids=["saturating", "some", "within"])
@drawing
def test_eight_bit_products(ready: Ready, name: str, high: float) -> None:
    """llvmpipe rounds a colour to the nearest of 256 values. An H100's own programs cut it to 12
    bits first (measured: what is less than 1/16 of a step above the middle of two goes down).
    """
    executor = ready(name)
    for shape, a, b in (((5, 7, 3), True, False), ((4, 9, 7), False, True)):
        turned = {"transpose_a": a, "transpose_b": b}
        plan = plan_of(LARSON, shape, texture_format="unorm8", **turned)
        operands = random_operands(plan, low=0.0, high=high)
        machine = Machine(tuning=QUICKLY_COMPILED)
        expected = eight_bit_product(*as_multiplied(operands, **turned))
        assert_same_bits(NUMPY.run(plan, operands).outputs["C"], expected)
        found = executor.run(plan, operands, machine).outputs["C"]
        if executor.capabilities.exact or driver_of(executor) is LLVMPIPE:
            assert_same_bits(found, expected)
        assert (found <= expected).all()
        assert (expected - found <= shape[1] / 255 + 1e-6).all()


# Dispatched --------------------------------------------------------------------------------------

KERNELS = [method for method in products() if method not in fragment_methods()]
every_kernel = pytest.mark.parametrize("method", KERNELS, ids=lambda method: method.name)
ODD = (19, 41, 35)


@pytest.mark.parametrize("shape", [(1, 1, 1), (9, 1, 1), (1, 1, 67), (2, 67, 3), (13, 17, 11)])
@every_kernel
@dispatching
def test_dispatched_products(
    ready: Ready, name: str, method: Algorithm, shape: tuple[int, int, int]
) -> None:
    assert_agrees(ready(name), plan_of(method, shape))


VARIANTS: list[tuple[str, tuple[int, int, int], dict[str, Any]]] = [
    *(
        (f"dobravec-bulic-{m}", ODD, {"block": 2**i})
        for m in ("global", "shared")
        for i in range(6)
    ),
    *(("dobravec-bulic-shared", ODD, {"block": b, "dynamic": True}) for b in (1, 8, 32)),
    ("opengl-compute-tiled", (33, 7, 70), {"as_printed": True}),
    ("opengl-compute-tiled", (2060, 3, 5), {}),  # more than one batch
]


@pytest.mark.parametrize(("method", "shape", "more"), VARIANTS)
@dispatching
def test_parameters_of_kernels(
    ready: Ready, name: str, method: str, shape: tuple[int, int, int], more: dict[str, Any]
) -> None:
    executor = ready(name)
    takes_long = shape[0] > 2048 or "as_printed" in more
    if takes_long and name == "gl-compute" and not executor.is_hardware():
        pytest.skip("llvmpipe takes long")
    assert_agrees(executor, plan_of(find_product(method), shape, **more))


@pytest.mark.parametrize("adds", [False, True])
@every_kernel
@dispatching
def test_scaled_added_to_and_not_finite(
    ready: Ready, name: str, method: Algorithm, adds: bool
) -> None:
    """What a row of A has reaches its row of C, and no other."""
    executor, alpha, beta = ready(name), -1.75, 0.375
    plan = plan_of(method, (13, 17, 11), alpha=alpha, beta=beta if adds else None)
    operands = random_operands(plan, 5)
    assert ("C0" in operands) is adds
    machine = as_exact_as_it_can(executor, plan)
    a, b = (operands[matrix].astype(np.float64) for matrix in "AB")
    addend = operands["C0"].astype(np.float64) if adds else np.zeros((13, 11))
    found = executor.run(plan, operands, machine).outputs["C"]
    size = abs(alpha) * (np.abs(a) @ np.abs(b)) + abs(beta * addend)
    error = np.abs(found - (alpha * (a @ b) + beta * addend))
    assert (error <= (17 + 5) * 2.0**-24 * size).all()
    operands["A"][1, 4], operands["A"][3, 9], operands["B"][2, 5] = np.nan, np.inf, -np.inf
    operands["A"][5, 2] = 0.0  # times infinity
    found = executor.run(plan, operands, machine).outputs["C"]
    expected = NUMPY.run(plan, operands, EXACT).outputs["C"]
    if machine.exact:
        assert_same_bits(found, expected)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert np.isnan(found[1]).all() and np.isnan(found[5, 5]) and np.isinf(found[3, :5]).all()


@dispatching
def test_the_host_s_product_is_summed_in_double(ready: Ready, name: str) -> None:
    for shape in ((7, 300, 5), (20, 30, 40)):
        plan = plan_of(find_product("dobravec-bulic-host"), shape)
        operands = random_operands(plan, 2)
        exact = operands["A"].astype(np.float64) @ operands["B"].astype(np.float64)
        found = ready(name).run(plan, operands).outputs["C"]
        half = 0.5001 * np.spacing(np.abs(exact).astype(np.float32))
        assert (np.abs(found - exact) <= half).all()
