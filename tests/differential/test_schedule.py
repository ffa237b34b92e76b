"""Repeats that native threads run as a whole: temporal tiles, and passes one after another.

Bit for bit what the passes give one at a time, in default mode as an observed run has it, and with
`exact` as the reference machine has it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from drawing import Made, program, texture
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbours import relaxations, same_as_passes
from sorting import in_order, shuffled, sort_plan

from gpgpu_legacy.lower.analysis.neighbourhood import Neighbourhood
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import CopyPass
from gpgpu_legacy.plan.textures import R32F
from gpgpu_legacy.runtime import schedule, workers
from gpgpu_legacy.runtime.executors.jit import EXECUTOR as JIT
from gpgpu_legacy.runtime.machine import Tuning
from gpgpu_legacy.runtime.schedule import RepeatRun, Stage

EXAMPLES = int(os.environ.get("RELAXATIONS", "5"))
SHORT_CODE = Tuning(tile=(2, 1))  # of random programs; shipped ones have the tile of the rule
BLOCKS = st.tuples(st.integers(1, 5), st.sampled_from((1, 3, 16, 64)))  # rows and columns
Force = Callable[[int, int, int, int], None]


@pytest.fixture
def force(monkeypatch: pytest.MonkeyPatch) -> Force:
    """Sets how many threads there are, and for small plans passes, chunk and span of a stage."""
    chosen = schedule.stage_of

    def forced(threads: int, passes: int, chunk: int, span: int) -> None:
        def stage_of(around: Neighbourhood, *given: int) -> Stage:
            stage = chosen(around, *given)
            return replace(stage, chunk=chunk, span=schedule.ENDLESS if around.wraps[0] else span)

        for module in (schedule, workers):
            monkeypatch.setattr(module, "thread_count", lambda: threads)
        monkeypatch.setattr(schedule, "MOST_PASSES", passes)
        monkeypatch.setattr(schedule, "_LEAST_WORK", 1)
        monkeypatch.setattr(schedule, "stage_of", stage_of)

    return forced


def stages(prepared: object) -> list[Stage]:
    """The shapes in which the Repeats of a prepared plan run."""
    steps = [step for part in prepared._steps.values() for step in part]  # type: ignore[attr-defined]
    runs = [run for step in steps if step.count > 1 for run in step.runs]
    owners = [getattr(run, "__self__", None) for run in runs]
    return [owner.stage for owner in owners if isinstance(owner, RepeatRun)]


def test_random_relaxations(force: Force) -> None:
    shapes: list[Stage] = []

    @settings(max_examples=EXAMPLES)
    @given(relaxations(), st.integers(1, 3), st.sampled_from((1, 2, 3, 8)), BLOCKS)
    def run(made: Made, threads: int, passes: int, block: tuple[int, int]) -> None:
        force(threads, passes, *block)
        shapes.extend(same_as_passes(JIT, made.plan, made.operands, SHORT_CODE, stages))

    run()
    assert shapes


def test_a_row_of_passes_by_several_threads(force: Force) -> None:
    """Each pass of a sort reads what others wrote anywhere, and a copy what the last one wrote."""
    force(3, 1, 1, 1)
    plan, values = sort_plan(16, 16), shuffled(16, 16)
    [output] = plan.outputs
    copied = texture("copied", 16, 16, R32F)
    copy = CopyPass(output.texture, output.rect, "copied", output.rect)
    plan = replace(
        plan,
        textures=(*plan.textures, copied),
        steps=(*plan.steps, copy),
        outputs=(replace(output, texture="copied"),),
    )
    with JIT.prepare(plan) as prepared:
        for _ in range(20):
            assert np.array_equal(
                prepared.run({"values": values}).outputs["sorted"], in_order(values)
            )


OFFSETS = st.tuples(st.integers(-20, 20), st.integers(-3, 3))


@settings(max_examples=8)
@given(
    st.sampled_from((1, 15, 16, 17, 33, 48, 70, 129)),
    st.integers(1, 6),
    st.lists(OFFSETS, min_size=1, max_size=4),
    st.sampled_from(("r32f", "r16f", "unorm8", "rgba32f")),
)
def test_lookups_beyond_the_edges_of_wide_textures(
    width: int, height: int, offsets: list[tuple[int, int]], texel_format: str
) -> None:
    lines = ["TEX sum, fragment.position, texture[0], RECT;"]
    for right, up in offsets:
        lines += [f"ADD at, fragment.position, {{{right}, {up}, 0, 0}};",
                  "TEX texel, at, texture[0], RECT;", "MAD sum, texel, 0.375, sum;"]  # fmt: skip
    body = program(*lines, "FRC result.color, sum;", temporaries="TEMP sum, at, texel;")
    p = PlanBuilder("edges")
    x = p.texture("x", width, height, format=texel_format)
    y = p.texture("y", width, height, format=texel_format)
    given_ = p.input("given", height, width)
    p.draw(program("TEX result.color, fragment.position, texture[0], RECT;"), {0: given_}, into=x)
    with p.repeat(4):
        p.draw(body, {0: x}, into=y)
        p.swap(x, y)
    p.output("x", x)
    rng = np.random.default_rng(len(offsets))
    operands = {"given": rng.random((height, width), np.float32)}
    same_as_passes(JIT, p.plan(), operands, None, stages)
