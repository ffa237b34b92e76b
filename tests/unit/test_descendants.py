"""The one-pass products that came after the papers: packed-2x2 and row-packed."""

from __future__ import annotations

from collections import Counter

import pytest
from drawing import EXACT, assert_same_bits
from products import (
    assert_within_the_bound,
    fragment_passes,
    random_operands,
)

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import ClearPass, FragmentPass, Plan
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.machine import Machine

NUMPY = find_executor("numpy")
PACKED, ROWS = find_product("packed-2x2"), find_product("row-packed")
BOTH = pytest.mark.parametrize("method", [PACKED, ROWS], ids=lambda m: m.name)


def assert_right(
    executor: Executor,
    method: Algorithm,
    shape: tuple[int, int, int],
    largest: int,
    *,
    same: bool,
) -> None:
    m, l, n = shape  # noqa: E741
    plan = method.plan(m=m, l=l, n=n, largest_texture=largest)
    operands = random_operands(plan, seed=5)
    machine = EXACT if executor.capabilities.exact else Machine()
    result = executor.run(plan, operands, machine).outputs["C"]
    if same:
        assert_same_bits(result, NUMPY.run(plan, operands).outputs["C"])
    assert_within_the_bound(result, operands["A"], operands["B"], fragment_passes(plan))
    assert all(max(t.extent.width, t.extent.height) <= largest for t in plan.textures)


@pytest.mark.parametrize(
    ("shape", "largest"),
    [((1, 1, 1), 1), ((2, 3, 4), 1), ((53, 59, 61), 8192), ((19, 37, 23), 3), ((41, 67, 43), 16)],
    ids=str,
)
@BOTH
def test_products(method: Algorithm, shape: tuple[int, int, int], largest: int) -> None:
    assert_right(NUMPY, method, shape, largest, same=False)


# Passes ------------------------------------------------------------------------------------------


def drawn(plan: Plan) -> list[FragmentPass]:
    return [*plan.only(FragmentPass)]


@BOTH
def test_a_sum_too_long_for_a_texture_is_added_up_in_the_framebuffer(method: Algorithm) -> None:
    per_texel = 2 if method is PACKED else 4
    plan = method.plan(n=4, l=2 * 8 * per_texel + 1, largest_texture=8)
    clear, *_ = plan.steps
    assert clear == ClearPass("C[0,0]")
    assert [pass_.blend for pass_ in drawn(plan)] == [ADD] * 3
    lookups = [sum(i.texture is not None for i in pass_.program.instructions)
               for pass_ in drawn(plan)]  # fmt: skip
    a_step = 2 if method is PACKED else 5
    assert lookups == [8 * a_step, 8 * a_step, a_step]


def mnemonics(plan: Plan) -> Counter[str]:
    [pass_] = drawn(plan)
    return Counter(i.mnemonic for i in pass_.program.instructions)


@pytest.mark.parametrize(("inner", "steps"), [(1, 1), (3, 2), (1024, 512)])
def test_packed_2x2_takes_two_lookups_two_mads_and_an_add_a_step(inner: int, steps: int) -> None:
    plan = PACKED.plan(m=6, l=inner, n=10)
    assert mnemonics(plan) == Counter(
        TEX=2 * steps, MAD=2 * steps, ADD=steps, MOV=4  # two coordinate pairs, 0 and the result
    )  # fmt: skip
    counts = count_plan(plan)
    assert (counts.passes, counts.fragments) == (1, 3 * 5)
    assert counts.lookup == 15 * 2 * steps
    assert counts.arithmetic == 15 * (3 * steps + 4)
    assert counts.bytes_requested == 15 * 16 * (2 * steps + 1)


@pytest.mark.parametrize(("inner", "steps"), [(1, 1), (5, 2), (1024, 256)])
def test_row_packed_takes_five_lookups_and_four_dot_products_a_step(inner: int, steps: int) -> None:
    plan = ROWS.plan(m=6, l=inner, n=10)
    assert mnemonics(plan) == Counter(
        TEX=5 * steps, DP4=4 * steps, ADD=3 * steps, MOV=6  # the sum, and k in two registers
    )  # fmt: skip
    counts = count_plan(plan)
    assert (counts.passes, counts.fragments) == (1, 6 * 3)
    assert counts.lookup == 18 * 5 * steps
    assert counts.arithmetic == 18 * (7 * steps + 6)
    assert counts.bytes_requested == 18 * 16 * (5 * steps + 1)
