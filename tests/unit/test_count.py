from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from commands import Command
from drawing import fragment_texcoords, parameters, program, show, texture
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import Made, plans
from products import METHODS_AND_WAYS, plan_of

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.api.count import count
from gpgpu_legacy.count.closed_form import recover, same_formula
from gpgpu_legacy.count.instructions import InstructionCounts, count_instructions
from gpgpu_legacy.count.traffic import (
    Counts,
    PassCounts,
    count_by_pass,
    count_pass,
    count_plan,
    fragments_per_pass,
)
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.numbers import Affine, Table
from gpgpu_legacy.plan.plan import (
    Binding,
    ClearPass,
    CopyPass,
    FragmentPass,
    Plan,
    Repeat,
    kind_of_pass,
)
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


def test_formulas_are_compared_as_formulas() -> None:
    counted = recover(lambda n, b: 4 * n**3 + 4 * n**3 // b)
    assert same_formula(counted, "4*n**3*(b + 1)/b")
    assert same_formula(counted, "4*n**3*(1 + 1/b)")
    assert not same_formula(counted, "4*n**3")
    assert not same_formula(counted, "4*n**3*(b + 1)/b + 1")
    assert not same_formula(None, "n")


# The cost of a plan by pass, and how passes are numbered ------------------------------------------


def numbers_of(group: PassCounts) -> list[int]:
    return [number for numbers in group.numbers for number in numbers]


@given(plans())
@settings(max_examples=15, deadline=None)
def test_the_passes_of_a_plan_add_up_to_the_plan(made: Made) -> None:
    """Each pass of the expansion is counted by itself, and its number belongs to one group."""
    groups = count_by_pass(made.plan)
    run = list(passes(made.plan))
    expected: Counter[int] = Counter()
    for group in groups:
        mine = [run[number - 1] for number in numbers_of(group)]
        assert group.counts == sum((count_pass(made.plan, p) for p in mine), Counts())
        assert {kind_of_pass(p) for p in mine} == {kind_of_pass(group.pass_)}
        expected.update(numbers_of(group))
        assert group.runs == len(mine)
    assert expected == Counter(range(1, len(run) + 1))
    none = replace(made.plan, steps=())
    total = sum((group.counts for group in groups), count_plan(none))
    assert total == count_plan(made.plan)


FILL = program("MOV result.color, program.local[0];")


def mixed() -> Plan:
    """A clear; three times a fill and a copy; two fills with other numbers, one of them smaller."""
    p, q = (texture(name, 4, 4, R32F, None) for name in ("P", "Q"))
    whole = Rect(0, 0, 4, 4)
    fill = FragmentPass(FILL, (), ("P",), whole, locals=parameters({0: (1.0, 0.0, 0.0, 0.0)}))
    other = replace(fill, locals=parameters({0: (2.0, 0.0, 0.0, 0.0)}))
    small = replace(fill, rect=Rect(1, 2, 3, 1))
    body = (fill, CopyPass("P", whole, "Q", whole))
    return show([ClearPass("Q"), Repeat(3, body), other, small], p, others=[q])


def test_passes_that_do_the_same_work_are_one_row() -> None:
    """Fragments write 4 bytes; a copy reads and writes 4 bytes a texel."""
    clear, fill, copy, small = count_by_pass(mixed())
    assert clear.counts == Counts(passes=1, clear_bytes=64)
    assert numbers_of(fill) == [2, 4, 6, 8] and fill.runs == 4
    assert fill.counts == Counts(
        passes=4, draws=4, fragments=64, arithmetic=64, bytes_requested=256, geometry_bytes=192,
    )  # fmt: skip
    assert numbers_of(copy) == [3, 5, 7] and copy.counts.copy_bytes == 3 * 2 * 4 * 16
    assert numbers_of(small) == [9] and small.counts.fragments == 3


# What a plan costs, as a record and as tables -----------------------------------------------------


def test_passes_of_every_kind_have_a_row() -> None:
    """A clear of 4 texels of 4 bytes; rows of 2 and of 1 fragments; copies of 2 texels."""
    p, q = (texture(name, 2, 2, R32F, None) for name in "PQ")
    rect = MovingRect(0, 0, Table((2, 1)), 1)
    fill = FragmentPass(program("MOV result.color, 1;"), (), ("P",), rect)
    copy = CopyPass("P", Rect(0, 0, 2, 1), "Q", Rect(0, 1, 2, 1))
    plan = show([ClearPass("P"), Repeat(2, (fill, copy))], q, others=[p])
    totals, passes = count(PlanBuilder.continuing(plan)).grids(whole=True)
    assert totals.caption == "made for a test: counts"
    assert passes.heads[6:] == (
        "fragments",
        "arithmetic",
        "bytes requested",
        "copy bytes",
        "clear bytes",
    )
    assert passes.rows == (
        ("1", 1, "clear", "", "P", "", 0, 0, 0, 0, 16),
        ("2, 4", 2, "draw test.fp", "", "P", "varying×1", 3, 3, 12, 0, 0),
        ("3, 5", 2, "copy", "P", "Q", "2×1", 0, 0, 0, 32, 0),
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("jacobi", "--over", "m"), "jacobi has no parameter m; its parameters are n, passes"),
        (("jacobi", "--texels", "r32f"), "--texels is for a program FILE.fp"),
        (("life.fp", "--over", "n"), "life.fp has no parameters to find formulas in"),
        (("life.fp", "n=4"), "life.fp is a program, which has no parameters; leave n= out"),
    ],
)
def test_what_cannot_be_counted_so_is_one_line(
    run: Command, words: tuple[str, ...], message: str
) -> None:
    code, out, err = run("count", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
