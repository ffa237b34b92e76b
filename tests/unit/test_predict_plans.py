"""Predictions of any plan: what is counted, part by part, and what each pass takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawing import program, show, texture
from hypothesis import given, settings
from plans import Made, plans

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import DEFAULT_ACCESS
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import Binding, CopyPass, FragmentPass, Repeat
from gpgpu_legacy.plan.textures import R32F, RGBA32F, Rect
from gpgpu_legacy.predict.model import CacheModel, predict, predict_passes, predict_plan
from gpgpu_legacy.predict.prediction import TimeStage
from gpgpu_legacy.predict.rates import Rates
from gpgpu_legacy.predict.work import Work, count_work

RADEON = find_profile("radeon-9700-pro")


def work_of(made: Made) -> Work:
    return count_work(made.plan, Rates(RADEON.hardware))


@given(plans())
@settings(max_examples=20, deadline=None)
def test_the_work_of_any_plan_is_what_its_passes_count(made: Made) -> None:
    """The counter of plans reads each pass by itself; a chip of the time fuses none."""
    work, counts = work_of(made), count_plan(replace(made.plan, inputs=(), outputs=()))
    run = list(passes(made.plan))
    drawn = [p for p in run if isinstance(p, FragmentPass)]
    assert work.lookups.total() == counts.lookup
    assert work.fills.total() + work.blends.total() == sum(
        p.drawn.area * len(p.targets) for p in drawn
    )
    assert work.instructions + counts.blend == counts.arithmetic
    assert work.copy_bytes == counts.copy_bytes
    initial = count_plan(replace(made.plan, inputs=(), outputs=(), steps=())).clear_bytes
    assert work.clear_bytes == counts.clear_bytes - initial
    assert work.passes == len(run)


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


# By pass ----------------------------------------------------------------------------------------

XT = find_profile("radeon-9800-xt")  # 26.4 GFLOPS in vectors, 8 pipelines of 412 MHz, 23.36 GB/s
FILL = program("MOV R0, 1;", "ADD R0, R0, 1;", "ADD R0, R0, 2;", "MOV result.color, R0;")


def filled(target: str, rect: Rect) -> FragmentPass:
    return FragmentPass(FILL, (), (target,), rect)


def test_each_pass_is_bound_by_its_own_unit() -> None:
    """4 instructions on 4096 fragments, five times; 2 · 4 bytes copied a texel, four times."""
    p, q = texture("P", 64, 64, R32F, None), texture("Q", 64, 64, R32F)
    whole = Rect(0, 0, 64, 64)
    steps = [Repeat(4, (filled("P", whole), CopyPass("P", whole, "Q", whole))), filled("P", whole)]
    plan = show(steps, q, others=[p])
    fill, copy = predict_passes(plan, XT)
    assert fill.seconds == pytest.approx(5 * 4096 * 4 / (26.4e9 / 8))
    assert (fill.binds, fill.runs, fill.numbers) == ("arithmetic", 5, "1, 3, 5, … 9")
    assert copy.seconds == pytest.approx(4 * 2 * 4 * 4096 / 23.36e9)
    assert (copy.binds, copy.runs, copy.numbers) == ("copies", 4, "2, 4, 6, … 8")
    whole_plan = predict(plan, XT).compute_seconds
    assert whole_plan == pytest.approx(fill.seconds + copy.seconds)


def test_fused_passes_are_one_row() -> None:
    whole = Rect(0, 0, 8, 8)
    look = program("TEX R0, fragment.position, texture[0], RECT;", "ADD result.color, R0, 1;")
    p, q = texture("P", 8, 8, R32F), texture("Q", 8, 8, R32F)
    there = FragmentPass(look, (Binding(0, "P"),), ("Q",), whole)
    back = FragmentPass(look, (Binding(0, "Q"),), ("P",), whole)
    plan = show([Repeat(50, (there, back))], p, others=[q])
    [fused] = predict_passes(plan, find_profile("xeon-jit"))
    assert (len(fused.what), fused.runs) == (2, 100)
    [apart] = predict_passes(plan, find_profile("xeon-gl-raster"))  # there and back are one work
    assert (len(apart.what), apart.runs, apart.numbers) == (1, 100, "1–100")
    assert fused.seconds is not None and apart.seconds is not None
    assert fused.seconds < apart.seconds


def test_what_is_drawn_and_what_is_dispatched_are_added() -> None:
    """The terms of the kernel are as they are alone; 16 fragments more are written.

    The chip computes component by component, of which the target keeps one.
    """
    kernels = find_product("dobravec-bulic-global").plan(n=64)
    target = texture("P", 4, 4, R32F)
    both = replace(
        kernels,
        textures=(*kernels.textures, target),
        steps=(*kernels.steps, filled("P", Rect(0, 0, 4, 4))),
    )
    chip = find_profile("quadro-4000")
    alone, mixed = predict(kernels, chip), predict(both, chip)
    dispatched = [t for t in mixed.terms if t.stage is TimeStage.DISPATCH]
    assert dispatched == [t for t in alone.terms if t.stage is TimeStage.DISPATCH] != []
    assert not [t for t in alone.terms if t.stage is TimeStage.DRAW]
    assert {t.name: t.count for t in mixed.terms if t.stage is TimeStage.DRAW} == {
        "arithmetic": 16 * (4 + 4 + 4 + 1), "memory": 64, "fill": 16,
    }  # fmt: skip


# Predictions of plans ---------------------------------------------------------------------------


def test_a_simulated_cache_replaces_what_memory_serves() -> None:
    cache = CacheModel(Memory((parse_cache("1K,direct,64B"),)), DEFAULT_ACCESS)
    p = find_product("hall-carr-hart-multi").builder(n=32, block=4)
    predicted = predict_plan(p, "radeon-9800-xt", cache)
    assert predicted.memory_bytes == cache.memory_bytes(p.plan()) > 0
    counts = {term.name: term.count for term in predicted.terms}
    assert counts["memory behind the cache"] == predicted.memory_bytes
