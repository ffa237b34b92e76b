"""Predictions of any plan: what is counted, part by part, and what each pass takes."""

from __future__ import annotations

from dataclasses import replace

from drawing import program, show, texture
from hypothesis import given, settings
from plans import Made, plans
from sorting import sort_plan

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.formats import R32F, RGBA32F
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Repeat
from gpgpu_legacy.plan.textures import Rect
from gpgpu_legacy.predict.parts import parts_of
from gpgpu_legacy.predict.rates import Rates
from gpgpu_legacy.predict.work import Work, count_work

RADEON = find_profile("radeon-9700-pro")


def work_of(made: Made) -> Work:
    return count_work(made.plan, Rates(RADEON.hardware))


@given(plans())
@settings(max_examples=30, deadline=None)
def test_the_work_of_any_plan_is_what_its_passes_count(made: Made) -> None:
    """The counter of plans reads each pass by itself; a chip of the time fuses none."""
    work, counts = work_of(made), count_plan(replace(made.plan, inputs=(), outputs=()))
    run = list(passes(made.plan))
    drawn = [p for p in run if isinstance(p, FragmentPass)]
    assert work.lookups.total() == counts.lookup
    assert work.fills.total() + work.blends.total() == sum(
        p.rect.area * len(p.targets) for p in drawn if isinstance(p.rect, Rect)
    )
    assert work.instructions + counts.blend == counts.arithmetic
    assert work.copy_bytes == counts.copy_bytes
    initial = count_plan(replace(made.plan, inputs=(), outputs=(), steps=())).clear_bytes
    assert work.clear_bytes == counts.clear_bytes - initial
    assert work.passes == len(run)


def test_the_tiles_of_a_large_product_are_few_parts() -> None:
    """A product of 5 × 5 × 5 tiles: full ones, those at the edges, and corners, fill and clear."""
    plan = find_method("larson-mcallister").plan(Shape(130, 130, 130), Options(largest_texture=30))
    parts = parts_of(plan, apart=True)
    steps = [step for step in plan.steps if not isinstance(step, Repeat) or step.count]
    assert sum(part.times for part in parts) == len(steps) > 125 > 3 * len(parts)
    numbers = sorted(
        n.first + n.step * at for part in parts for n in part.numbers for at in range(n.count)
    )
    assert numbers == list(range(1, 1 + len(list(passes(plan)))))


def test_a_part_has_its_textures_by_their_order() -> None:
    there, *others = parts_of(sort_plan(4, 4, tables=True), apart=True)
    assert [t.name for t in there.plan.textures] == ["0", "1"]
    assert len(others) == 1  # with other numbers in its Table


BOTH = program(
    "MOV result.color, 1;", "MOV result.color[1], 2;",
    temporaries="OPTION ARB_draw_buffers; TEMP R0;",
)  # fmt: skip


def test_every_target_of_a_pass_is_written() -> None:
    """12 fragments, 4 + 16 bytes each: one component of one colour is kept, four of the other."""
    p, q = texture("P", 4, 3, R32F), texture("Q", 4, 3, RGBA32F)
    plan = show([FragmentPass(BOTH, (), ("P", "Q"), Rect(0, 0, 4, 3))], p, others=[q])
    work = count_work(plan, Rates(RADEON.hardware))
    assert work.fills == {32: 12, 128: 12}
    assert (work.components, work.memory_bytes) == (12 * (1 + 4), 12 * 20)
    assert work.instructions == 24


def test_one_colour_for_all_targets_is_kept_in_the_widest() -> None:
    p, q = texture("P", 4, 3, R32F), texture("Q", 4, 3, RGBA32F)
    fill = program("MOV result.color, 1;")
    plan = show([FragmentPass(fill, (), ("P", "Q"), Rect(0, 0, 4, 3))], p, others=[q])
    assert count_work(plan, Rates(RADEON.hardware)).components == 12 * 4


def test_a_lookup_at_unknown_places_reads_no_more_than_it_can() -> None:
    """4 of 64 × 64 texels at most: a fragment looks one up, wherever it is, and writes one."""
    look = program(
        "TEX R0, fragment.position, texture[0], RECT;",
        "TEX result.color, R0, texture[0], RECT;",
    )
    p, q = texture("P", 64, 64, R32F), texture("Q", 64, 64, R32F)
    drawn = FragmentPass(look, (Binding(0, "P"),), ("Q",), Rect(0, 0, 2, 2))
    work = count_work(show([drawn], q, others=[p]), Rates(RADEON.hardware))
    assert work.memory_bytes == 4 * (4 + 4 + 4)
