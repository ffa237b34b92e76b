"""The products of all methods on the reference machine: values, padding, ways, programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from products import (
    F32,
    METHODS_AND_WAYS,
    as_multiplied,
    assert_within_the_bound,
    fragment_methods,
    fragment_passes,
    plan_of,
    random_operands,
    ways,
)

from gpgpu_legacy import matmul
from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Plan
from gpgpu_legacy.runtime.executor import find_executor

NUMPY = find_executor("numpy")


def product(plan: Plan, operands: dict[str, F32]) -> F32:
    return NUMPY.run(plan, operands).outputs["C"]


def check(
    method: Algorithm,
    shape: tuple[int, int, int],
    way: Accumulate | None,
    seed: int = 1,
    **more: Any,
) -> Plan:
    plan = plan_of(method, shape, way, **more)
    operands = random_operands(plan, seed)
    a, b = as_multiplied(operands, **more)
    assert (a.shape, b.shape) == ((shape[0], shape[1]), (shape[1], shape[2]))
    assert_within_the_bound(product(plan, operands), a, b, fragment_passes(plan))
    return plan


# Products ----------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=20)
def test_any_product(data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(fragment_methods()))
    way = data.draw(st.sampled_from(ways(method)))
    shape = data.draw(st.tuples(*[st.integers(1, 20)] * 3))
    block = data.draw(st.integers(1, 9))
    turned = {name: data.draw(st.booleans()) for name in ("transpose_a", "transpose_b")}
    check(
        method,
        shape,
        way,
        data.draw(st.integers(0, 99)),
        block=block,
        largest_texture=data.draw(st.integers(block, 24)),
        **{name: value for name, value in turned.items() if name in method.parameters},
    )


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_the_sum_is_taken_in_order(method: Algorithm, way: Accumulate | None) -> None:
    """2²⁴ + 1 - 2²⁴ is 0 in float32 from left to right, and 1 in another order."""
    plan = plan_of(method, (1, 3, 1), way, block=3)
    a = np.array([[2.0**24, 1.0, -(2.0**24)]], np.float32)
    assert product(plan, {"A": a, "B": np.ones((3, 1), np.float32)}).tolist() == [[0.0]]


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)], ids=str)
def test_an_empty_sum_is_zero_as_numpys(shape: tuple[int, int, int]) -> None:
    m, inner, n = shape
    a, b = np.ones((m, inner)), np.ones((inner, n))
    np.testing.assert_array_equal(matmul(a, b), a @ b)


# Accumulating ------------------------------------------------------------------------------------


def kinds(plan: Plan) -> set[type]:
    return {*map(type, plan.as_written)}


@pytest.mark.parametrize("name", ["hall-carr-hart-single", "hall-carr-hart-multi"])
def test_the_three_ways_differ_as_they_are_named(name: str) -> None:
    plans = {way: plan_of(find_product(name), (8, 24, 8), way) for way in Accumulate}
    copied = plans[Accumulate.COPY]
    copies = sum(n for n, pass_ in copied.weighted_passes() if isinstance(pass_, CopyPass))
    assert copies == fragment_passes(copied)
    assert CopyPass not in kinds(plans[Accumulate.PING_PONG]) | kinds(plans[Accumulate.BLEND])
    for way, plan in plans.items():
        drawn = [*plan.only(FragmentPass)]
        assert {pass_.blend for pass_ in drawn} == {ADD if way is Accumulate.BLEND else None}
        reads_f = any(len(pass_.bindings) == 3 for pass_ in drawn)
        assert reads_f == (way is not Accumulate.BLEND)
    targets = {e.target for _, e in plans[Accumulate.PING_PONG].weighted_passes()}
    assert len(targets) == 2


# 8 bits ------------------------------------------------------------------------------------------

LARSON = find_product("larson-mcallister")


def larson(a: F32, b: F32, **more: Any) -> F32:
    plan = LARSON.plan(m=a.shape[0], l=a.shape[1], n=b.shape[1], **more)
    given_a, given_b = as_multiplied({"A": a, "B": b}, **more)
    return product(plan, {"A": given_a, "B": given_b})


def levels(values: object) -> F32:
    return (np.asarray(values) / 255).astype(np.float32)


def test_all_products_of_two_bytes() -> None:
    """round(p·q / 255) for all 65 536 pairs; none is a tie, for 2pq = 255(2k + 1) is odd."""
    p = np.arange(256)
    result = np.round(
        larson(levels(p[:, None]), levels(p[None, :]), texture_format="unorm8") * 255.0
    ).astype(int)
    assert (result == (2 * np.outer(p, p) + 255) // 510).all()


# Figure 1's numbers as they are printed ----------------------------------------------------------


@pytest.mark.parametrize(
    ("literally", "i", "m", "n"), [(True, Affine(0.0, 1.0), 3, 4), (False, Affine(0.5, 1.0), 4, 5)]
)
def test_figure_1s_coordinates(literally: bool, i: Affine, m: float, n: float) -> None:
    """texA: (0, i), (0, i), (m-1, i), (m-1, i); texB: (i, 0), (i, n-1), (i, n-1), (i, 0); row first
    in the figure, and clockwise from the upper left. Texel centres make m of m-1, i+0.5 of i."""
    plan = LARSON.plan(m=4, l=6, n=5, as_printed=literally)
    [pass_] = plan.only(FragmentPass)
    figure = {
        0: ((0, i), (0, i), (m, i), (m, i)),
        1: ((i, 0), (i, n), (i, n), (i, 0)),
    }
    for texcoords in pass_.texcoords:
        expected = tuple((column, row, 0, 1) for row, column in figure[texcoords.set])
        assert texcoords.corners == expected


# The programs, as Section 5.2 has them -----------------------------------------------------------


def mnemonics(name: str, block: int, way: Accumulate) -> list[str]:
    [program] = plan_of(find_product(name), (2, 2, 2), way, block=block).programs()
    return [i.mnemonic for i in program.instructions]


@pytest.mark.parametrize("block", [1, 2, 5, 32])
@pytest.mark.parametrize(
    ("name", "mads"), [("hall-carr-hart-single", 1), ("hall-carr-hart-multi", 2)]
)
def test_the_programs_are_made_as_the_paper_counts_them(name: str, mads: int, block: int) -> None:
    loop = ["TEX", "TEX", *["MAD"] * mads, "ADD"] * block
    for way in (Accumulate.COPY, Accumulate.PING_PONG):
        assert mnemonics(name, block, way) == ["MOV"] * 3 + loop + ["TEX", "ADD"]
    assert mnemonics(name, block, Accumulate.BLEND) == ["MOV"] * 3 + loop + ["MOV"]
