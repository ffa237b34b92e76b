"""The cost of a plan by pass, and how passes are numbered."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from drawing import parameters, program, show, texture
from hypothesis import given, settings
from plans import Made, plans

from gpgpu_legacy.count.traffic import Counts, PassCounts, count_by_pass, count_pass, count_plan
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import ClearPass, CopyPass, FragmentPass, Plan, Repeat, kind_of_pass
from gpgpu_legacy.plan.textures import R32F, Rect


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
