"""The answers of the exercises, against hand work."""

from __future__ import annotations

from fractions import Fraction

import pytest

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import LoadAnswer
from gpgpu_legacy.page.sections.exercises import (
    CHIP,
    COST_BLOCKS,
    MULTI,
    SINGLE,
    WHITE,
    costs,
    loaded,
    saturation,
)


def level(value: Fraction) -> int:
    """The nearest of 256 levels; what lies between two goes up, as GL rounds it here."""
    return int(min(value, Fraction(1)) * WHITE + Fraction(1, 2))


def framebuffer(stored: int, passes: int) -> list[int]:
    """Its level after each pass, in whole numbers and fractions."""
    step, after = level(Fraction(stored, WHITE) ** 2), [0]
    for _ in range(passes):
        after.append(min(after[-1] + step, WHITE))
    return after[1:]


def test_the_sum_in_8_bits() -> None:
    sums = saturation()
    assert sums.stored == level(sums.element) == 159
    assert list(sums.after) == framebuffer(sums.stored, sums.side)
    assert sums.first_white == 3 and sums.after[1] == 2 * sums.step < WHITE
    assert sums.exact == Fraction(25, 16)


def test_the_largest_elements_that_do_not_saturate() -> None:
    sums = saturation()
    below = [v for v in range(WHITE + 1) if framebuffer(v, sums.side)[-1] < WHITE]
    assert sums.largest == below[-1]


def test_the_moment_of_a_draw_has_the_matrices() -> None:
    rows = saturation().moment(1).split("figure-2.A=")[1].split("&")[0].split("~")
    assert [row.split("_") for row in rows] == [["0.625"] * 4] * 4


@pytest.mark.parametrize(("method", "channels", "per_step"), [(SINGLE, 1, 1), (MULTI, 4, 8)])
def test_lookups_and_bytes_of_a_multiply_add(method: str, channels: int, per_step: int) -> None:
    found = costs(method)
    assert found.per_step == per_step
    for b in COST_BLOCKS:
        # 2b texels and the sum so far; one texel is written.
        assert found.lookups.at[b] == Fraction(2 * b + 1, per_step * b)
        assert found.bytes_requested.at[b] == Fraction(4 * channels * (2 * b + 2), per_step * b)
    assert found.lookups.limit == Fraction(2, per_step)
    assert found.bytes_requested.limit == Fraction(8 * channels, per_step)


def test_the_largest_block_is_the_last_that_loads() -> None:
    found, chip = loaded(), find_profile(CHIP)
    assert found.written.value is not None

    def answer(block: int) -> LoadAnswer:
        return check_plan(find_product(MULTI).plan(n=8, block=block), chip).native

    assert answer(found.written.value) is not LoadAnswer.DOES_NOT_LOAD
    assert answer(found.written.value + 1) is LoadAnswer.DOES_NOT_LOAD
    # A step that looks up where the step before has added 1 opens a phase.
    assert found.indirections == "b + 1"
