from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from drawing import fragment_texcoords, program, show, texture
from hypothesis import given, settings
from hypothesis import strategies as st
from products import METHODS_AND_WAYS, plan_of

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.count.closed_form import recover, same_formula
from gpgpu_legacy.count.instructions import InstructionCounts, count_instructions
from gpgpu_legacy.count.traffic import (
    Counts,
    count_pass,
    count_plan,
    fragments_per_pass,
)
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.numbers import Affine, Table
from gpgpu_legacy.plan.plan import Binding, ClearPass, CopyPass, FragmentPass, Plan, Repeat
from gpgpu_legacy.plan.textures import (
    R32F,
    RGBA32F,
    UNORM8,
    MovingRect,
    Rect,
)

# Instructions ------------------------------------------------------------------------------------


def test_instructions_are_counted_by_the_class_of_their_cost() -> None:
    text = program(
        "MOV R0, 1;", "TEX R1, R0, texture[0], RECT;", "MAD_SAT R0.x, R1, R0, R0;",
        "MOV result.color, R0;",
    )  # fmt: skip
    assert count_instructions(text) == InstructionCounts(arithmetic=3, lookup=1, kill=0)
    assert count_instructions(text).total == 4


# Passes, by hand ---------------------------------------------------------------------------------

LOOK_TWICE = program(
    "TEX R0, fragment.texcoord[0], texture[0], RECT;",
    "TEX R1, fragment.texcoord[0], texture[1], RECT;",
    "MUL result.color, R0, R1;",
)
RECT = Rect(1, 0, 3, 2)


def drawn(blend: Blend | None = None) -> FragmentPass:
    return FragmentPass(
        LOOK_TWICE,
        (Binding(0, "F"), Binding(1, "E")),
        ("target",),
        RECT,
        (fragment_texcoords(0, 3, 2),),
        blend=blend,
    )


def plan_of_steps(*steps: object) -> Plan:
    others = [
        texture("F", 4, 4, RGBA32F, None),
        texture("E", 5, 5, UNORM8),
        texture("G", 4, 4, R32F, None),
    ]
    clear = ClearPass("F"), ClearPass("G")
    return show([*clear, *steps], texture("target", 4, 2, R32F, None), others=others)  # type: ignore[list-item]


def test_a_pass_asks_for_its_lookups_and_its_writes() -> None:
    """6 fragments: 16 + 1 bytes looked up, 4 written."""
    assert count_pass(plan_of_steps(drawn()), drawn()) == Counts(
        passes=1,
        draws=1,
        fragments=6,
        arithmetic=6,
        lookup=12,
        bytes_requested=6 * 21,
        geometry_bytes=48,
    )


def test_a_blended_pass_reads_what_it_writes_and_adds_once() -> None:
    result = count_pass(plan_of_steps(ClearPass("target"), drawn(ADD)), drawn(ADD))
    assert result == Counts(
        passes=1, draws=1, fragments=6, arithmetic=12, blend=6, lookup=12, bytes_requested=6 * 25,
        geometry_bytes=48,
    )  # fmt: skip


def test_a_copy_reads_and_writes_each_texel() -> None:
    copy = CopyPass("G", Rect(0, 0, 3, 2), "target", RECT)
    assert count_pass(plan_of_steps(copy), copy) == Counts(passes=1, copy_bytes=2 * 4 * 6)


def test_a_clear_writes_every_texel() -> None:
    plan = plan_of_steps(ClearPass("target"))
    assert count_pass(plan, ClearPass("E")) == Counts(passes=1, clear_bytes=25)
    assert count_pass(plan, ClearPass("F")) == Counts(passes=1, clear_bytes=16 * 16)


def test_a_repeat_counts_as_often_as_it_runs() -> None:
    once, often = plan_of_steps(drawn()), plan_of_steps(Repeat(7, (drawn(),)))
    rest = count_plan(plan_of_steps(ClearPass("target")))
    more = count_plan(often)
    assert more.bytes_requested == 7 * count_plan(once).bytes_requested
    assert (more.draws, more.fragments) == (7, 42)
    assert more.passes == often.pass_count == 9
    assert more.readback_bytes == rest.readback_bytes == 4 * 8
    assert more.clear_bytes == count_plan(once).clear_bytes


BOTH = assemble(
    "!!ARBfp1.0 OPTION ARB_draw_buffers; MOV result.color, 1; MOV result.color[1], 2; END"
)


def test_every_target_is_written_and_blended() -> None:
    """6 fragments: 16 bytes in F and 16 in H; read too where they blend, by an addition each."""
    both = FragmentPass(BOTH, (), ("F", "H"), RECT)
    plan = plan_of_steps(ClearPass("target"))
    plan = replace(plan, textures=(*plan.textures, texture("H", 4, 4, RGBA32F, None)))
    once = count_pass(plan, both)
    assert (once.bytes_requested, once.blend, once.arithmetic) == (6 * 32, 0, 12)
    blended = count_pass(plan, replace(both, blend=ADD))
    assert (blended.bytes_requested, blended.blend, blended.arithmetic) == (6 * 64, 12, 24)
    mixed = count_pass(plan, replace(both, targets=("F", "G"), blend=ADD))
    assert mixed.bytes_requested == 6 * 2 * (16 + 4)


def test_rectangles_that_change_are_counted_as_they_are() -> None:
    """3·2 + 2·1 + 1·2 fragments of 21 bytes, 2·4 bytes copied a texel."""
    rect = MovingRect(0, 0, Affine(3, -1), Table((2, 1, 2)))
    steps = (replace(drawn(), rect=rect), CopyPass("G", rect, "target", rect))
    plan = plan_of_steps(Repeat(3, steps))
    counts = count_plan(plan)
    assert (counts.passes, counts.draws, counts.fragments) == (8, 3, 10)
    assert counts.vertices == 12
    assert (counts.bytes_requested, counts.copy_bytes) == (10 * 21, 10 * 8)
    assert fragments_per_pass(plan) is None
    turned = MovingRect(0, 0, Table((1, 2, 2)), Table((2, 1, 1)))
    assert fragments_per_pass(plan_of_steps(Repeat(3, (replace(drawn(), rect=turned),)))) == 2


# Whole methods, by formulas of our own for any shape ---------------------------------------------


def ceil(a: int, b: int) -> int:
    return -(-a // b)


# The later methods' counts stand in test_descendants.py.
OF_THE_PAPERS = [way for way in METHODS_AND_WAYS if way.values[0].year <= 2003]


@given(st.tuples(st.integers(1, 40), st.integers(1, 60), st.integers(1, 40)), st.integers(1, 9))
@pytest.mark.parametrize(("method", "way"), OF_THE_PAPERS)
def test_products_of_any_shape(
    method: Algorithm, way: Accumulate | None, shape: tuple[int, int, int], block: int
) -> None:
    counts = count_plan(plan_of(method, shape, way, block=block))
    split = 2 if method.name.endswith("multi") else 1
    m, l, n = (ceil(d, split) for d in shape)  # noqa: E741 - in texels
    texel = 4 * split**2
    if way is None:
        block, lookups, arithmetic = 1, 2, 1
    else:
        blends = way is Accumulate.BLEND
        lookups = 2 * block + (not blends)
        arithmetic = (2 + split - 1) * block + 4
    blended = way in (None, Accumulate.BLEND)
    passes = ceil(l, block)
    fragments = passes * m * n
    assert counts.draws == passes
    assert counts.passes == passes + (passes if way is Accumulate.COPY else blended)  # + a clear
    assert counts.fragments == fragments
    assert counts.lookup == lookups * fragments
    assert counts.blend == blended * fragments
    assert counts.arithmetic == (arithmetic + blended) * fragments
    assert counts.kill == 0
    assert counts.bytes_requested == texel * (lookups + 1 + blended) * fragments
    assert counts.copy_bytes == (way is Accumulate.COPY) * 2 * texel * fragments
    assert counts.geometry_bytes == 48 * passes
    assert counts.upload_bytes == texel * passes * block * (m + n)
    assert counts.readback_bytes == texel * m * n
    assert counts.clear_bytes == texel * m * n


# Closed forms ------------------------------------------------------------------------------------

POWERS = [(i, j) for i in range(4) for j in (-1, 0, 1)]


@given(st.dictionaries(st.sampled_from(POWERS), st.integers(-9, 9), max_size=4))
@settings(max_examples=15)
def test_any_formula_of_the_papers_kind_is_recovered(terms: dict[tuple[int, int], int]) -> None:
    def quantity(n: int, b: int) -> int:
        """A multiple of b, so that the division leaves a whole number."""
        return int(
            sum(c * Fraction(n) ** i * Fraction(b) ** j for (i, j), c in terms.items()) * 5040
        )

    result = recover(quantity)
    for n, b in ((48, 2), (1000, 10), (64, 9)):
        exact = sum(c * Fraction(n) ** i * Fraction(b) ** j for (i, j), c in terms.items()) * 5040
        value = result.subs({s: {"n": n, "b": b}[s.name] for s in result.free_symbols})
        assert Fraction(int(value.p), int(value.q)) == exact


def test_formulas_are_compared_as_formulas() -> None:
    counted = recover(lambda n, b: 4 * n**3 + 4 * n**3 // b)
    assert same_formula(counted, "4*n**3*(b + 1)/b")
    assert same_formula(counted, "4*n**3*(1 + 1/b)")
    assert not same_formula(counted, "4*n**3")
    assert not same_formula(counted, "4*n**3*(b + 1)/b + 1")
    assert not same_formula(None, "n")
