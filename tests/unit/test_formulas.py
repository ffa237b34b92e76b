"""Formulas of families of plans: worked out by hand, and what has none."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

import pytest
from drawing import program, show, texture
from hypothesis import given, settings
from hypothesis import strategies as st
from sorting import sort_plan

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.count.closed_form import (
    ClosedForm,
    fit,
    fit_grid,
    formula_text,
    formulas,
    value_at,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Binding, ClearPass, FragmentPass, Plan, Repeat
from gpgpu_legacy.plan.textures import R32F, Rect

# The solver --------------------------------------------------------------------------------------

POWERS = [(i, j) for j in range(4) for i in range(-1, 4)]
SIZES = [2**k for k in range(1, 8)]


@given(
    st.dictionaries(
        st.sampled_from(POWERS),
        st.fractions(-50, 50, max_denominator=12).filter(bool),
        max_size=4,
    )
)
@settings(max_examples=40, deadline=None)
def test_a_sum_of_few_terms_is_found_exactly(terms: dict[tuple[int, int], Fraction]) -> None:
    """The values come from the terms, in fractions; no other sum of so few gives them."""
    values = [
        sum(
            (c * Fraction(n) ** i * (n.bit_length() - 1) ** j for (i, j), c in terms.items()),
            Fraction(0),
        )
        for n in SIZES
    ]
    assert fit(SIZES, values, POWERS, spare=2) == terms


def test_a_sum_of_more_terms_than_the_sizes_can_tell_is_not_claimed() -> None:
    values = [n**3 + n**2 + n + 1 for n in (1, 2, 3, 4)]
    powers = [(i, 0) for i in range(4)]
    assert fit((1, 2, 3, 4), values, powers) == dict.fromkeys(powers, 1)
    assert fit((1, 2, 3, 4), values, powers, spare=1) is None


def test_parameters_are_solved_for_one_after_another() -> None:
    axes = ((2, 4, 8, 16), (1, 2, 3, 4))
    values = {(n, b): n * (n.bit_length() - 1) + Fraction(n, b) for n in axes[0] for b in axes[1]}
    of_n, of_b = ((1, 0), (1, 1)), ((0, 0), (-1, 0))
    solution = fit_grid(axes, values, (of_n, of_b), spare=1)
    assert solution == {((1, 0), (-1, 0)): 1, ((1, 1), (0, 0)): 1}
    assert value_at(solution, (32, 5)) == 160 + Fraction(32, 5)
    assert formula_text(solution, ("n", "b")) == "n*(b*log(n, 2) + 1)/b"
    assert fit_grid(axes, {**values, (8, 3): 0}, (of_n, of_b), spare=1) is None


# Families of plans -------------------------------------------------------------------------------

MAXIMUM = program(
    "TEX R0, fragment.texcoord[0], texture[0], RECT;",
    "TEX R1, fragment.texcoord[0], texture[0], RECT;",
    "MAX result.color, R0, R1;",
)


def text_of(found: dict[str, ClosedForm], *names: str) -> list[str | None]:
    return [found[name].formula for name in names]


def steps_of(n: int) -> list[int]:
    """The widths of a reduction's rows: n/2, n/4, … 1; refused where n is no power of 2."""
    if n < 2 or n & (n - 1):
        raise InputError(f"n is {n}; give a power of 2")
    return [n >> step for step in range(1, n.bit_length())]


def reduction(n: int) -> Plan:
    """The largest of n numbers, by halves, drawn in turns to two rows."""
    rows = [texture(name, n, 1, R32F) for name in ("P", "Q")]
    drawn = [
        FragmentPass(MAXIMUM, (Binding(0, "PQ"[at % 2]),), ("QP"[at % 2],), Rect(0, 0, width, 1))
        for at, width in enumerate(steps_of(n))
    ]
    return show(drawn, rows[1], others=rows[:1])


def sort(n: int) -> Plan:
    """A bitonic sort of n numbers in a rectangle, twice as wide as high where n is no square."""
    bits = len(steps_of(n))
    return sort_plan(1 << (bits - bits // 2), 1 << bits // 2)


FILL = program("MOV result.color, 1;")


def filling(n: int, passes: int = 3, step: int = 1) -> Plan:
    """n×n texels filled by every step-th of so many passes, after a clear."""
    target = texture("target", n, n, R32F, None)
    pass_ = FragmentPass(FILL, (), ("target",), Rect(0, 0, n, n))
    return show([ClearPass("target"), Repeat(ceil(passes / step), (pass_,))], target)


def test_a_formula_in_several_parameters() -> None:
    found = formulas(filling, ("n", "passes"), at=(100, 50))
    names = ("draws", "fragments", "bytes_requested", "clear_bytes", "geometry_bytes")
    assert text_of(found, *names) == [
        "passes", "n**2*passes", "4*n**2*passes", "4*n**2", "48*passes",
    ]  # fmt: skip
    passes = found["draws"]
    assert passes.holds_for == "any n and passes"
    assert (100, 50) in passes.checked_at
    assert not set(passes.checked_at) & set(passes.solved_at)


def test_padding_at_small_sizes_is_no_formula_for_all() -> None:
    """Blocks of 32: one pass up to n = 32, and n/32 from there on."""

    def plan_of(n: int, b: int = 32) -> Plan:
        return find_product("hall-carr-hart-single").plan(n=n, block=b)

    found = formulas(plan_of, at=(96,))["draws"]
    assert (found.formula, found.holds_for) == ("n/32", "n a multiple of 32")
    assert (96,) in found.checked_at
    both = formulas(plan_of, ("n", "b"))["draws"]
    assert (both.formula, both.holds_for) == ("n/b", "powers of 2 as n and b, n at least b")


@pytest.mark.parametrize("passes", [lambda n: n % 5 + 1, lambda n: n**4 + (n > 400)])
def test_what_no_formula_gives_has_none(passes: Callable[[int], int]) -> None:
    found = formulas(lambda n: filling(4, passes(n)), at=(1024,))
    assert found["passes"].formula is None
    assert found["passes"].holds_for == ""
    assert found["clear_bytes"].formula == "64"
