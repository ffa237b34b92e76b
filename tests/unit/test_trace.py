"""A texel traced through passes and instructions: values by hand, by NumPy and by executors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import Made, plans
from sorting import shuffled, sort_plan

from gpgpu_legacy import Pipeline
from gpgpu_legacy.api.programs import make_drawing, trace_drawing
from gpgpu_legacy.api.steps import TracedInstruction
from gpgpu_legacy.api.trace import Fate, Trace, trace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import written_by
from gpgpu_legacy.present.grid import as_text
from gpgpu_legacy.present.grid import plain as plain_entry
from gpgpu_legacy.runtime.executor import find_executor

JACOBI = """!!ARBfp1.0
TEMP at, sum, r;
ADD at, fragment.position, {-1, 0, 0, 0};
TEX sum, at, texture[0], RECT;
ADD at, fragment.position, {1, 0, 0, 0};
TEX r, at, texture[0], RECT;
ADD sum, sum, r;
TEX r, fragment.position, texture[1], RECT;
ADD sum, sum, r;
MUL result.color, sum, 0.5;
END
"""
B = np.array([[1.0, 2.0, 4.0, 8.0]], np.float32)


def sort(width: int, height: int) -> PlanBuilder:
    return PlanBuilder.continuing(sort_plan(width, height))


def jacobi(count: int) -> Pipeline:
    """x' = (west + east + b) / 2 on a row of four, from 0; coordinates clamp to the edge."""
    p = Pipeline("jacobi")
    b = p.input("b", 1, 4)
    x, y = p.texture("x", 4, 1, initial=0.0), p.texture("y", 4, 1)
    with p.repeat(count):
        p.draw(JACOBI, {0: x, 1: b}, into=y)
        p.swap(x, y)
    p.output("x", x)
    return p


def values(found: Trace) -> list[tuple[int, str, float]]:
    """The number of the pass, the texture and the value after it, of one channel."""
    return [
        (visit.pass_, written.texture, written.after[0])
        for visit in found.visits
        for written in visit.written
    ]


def test_a_relaxation_by_hand() -> None:
    """Texel 1 of x₁ = b/2 = 0.5, 1, 2, 4, of x₂ = 1.25, 2.25, 4.5, 7, and of x₃."""
    found = trace(jacobi(3), (1, 0), {"b": B})
    assert values(found) == [(1, "y", 1.0), (2, "x", 2.25), (3, "y", (1.25 + 4.5 + 2) / 2)]
    assert found.textures == ("y", "x")
    iterations = [(visit.iteration, visit.iterations) for visit in found.visits]
    assert iterations == [(0, 3), (1, 3), (2, 3)]  # a Repeat of two and a pass, after swaps
    assert found.size == (4, 1)
    assert (found.passes, found.writing, found.unchanged) == (3, 3, 0)
    second = found.visits[1]
    assert (second.kind, second.fate, second.line) == ("draw", Fate.WRITTEN, 10)
    assert [(w.texture, w.before, w.after) for w in second.written] == [("x", (0.0,), (2.25,))]
    assert [(r.texture, r.texel.x, r.texel.y, r.value, r.line) for r in second.reads] == [
        ("y", 0, 0, (0.5,), 4),
        ("y", 2, 0, (2.0,), 6),
        ("b", 1, 0, (2.0,), 8),
    ]
    assert second.reads[0].coordinates == (0.5, 0.5, 0.5, 1.0)
    assert second.steps is None


def test_without_every_pass_those_that_change_the_value() -> None:
    plan, inputs = sort(16, 4), {"values": shuffled(16, 4)}
    every = trace(plan, (5, 2), inputs, every_pass=True).visits
    some = trace(plan, (5, 2), inputs)
    after = [visit.written[0].after for visit in every]
    ends = (every[0], every[-1])
    changed = [v for n, v in enumerate(every) if v in ends or after[n] != after[n - 1]]
    assert list(some.visits) == changed
    assert some.unchanged == len(every) - len(changed) > 0


KIL = """!!ARBfp1.0
TEMP r;
SUB r, fragment.position.x, 1.0;
KIL r;
MOV result.color, 5;
END
"""


def picture() -> Pipeline:
    """A 4×2 texture: cleared to 2, drawn at x ≥ 2 with a KIL left of 1, added to, copied to."""
    p = Pipeline("picture")
    t, u = (
        p.texture("t", 4, 2, format="rgba32f"),
        p.texture("u", 4, 2, format="rgba32f", initial=(1, 2, 3, 4)),
    )
    p.clear(t, 2.0)
    p.draw(KIL, into=t)
    p.draw("!!ARBfp1.0 MOV result.color, {1, 2, 3, 4}; END", into=t, blend="add", rect=(0, 0, 2, 1))
    p.copy(u, t, source_rect=(2, 0, 2, 1), target_rect=(0, 1, 2, 1))
    p.output("t", t)
    return p


@pytest.mark.parametrize(
    ("at", "fates", "after"),
    [
        ((0, 0), "WRITTEN DISCARDED WRITTEN OUTSIDE", [(2, 2, 2, 2)] * 2 + [(3, 4, 5, 6)] * 2),
        ((1, 0), "WRITTEN WRITTEN WRITTEN OUTSIDE", [(2,) * 4, (5,) * 4] + [(6, 7, 8, 9)] * 2),
        ((1, 1), "WRITTEN WRITTEN OUTSIDE WRITTEN", [(2,) * 4] + [(5,) * 4] * 2 + [(1, 2, 3, 4)]),
        ((3, 1), "WRITTEN WRITTEN OUTSIDE OUTSIDE", [(2,) * 4] + [(5,) * 4] * 3),
    ],
)
def test_what_becomes_of_a_texel(
    at: tuple[int, int], fates: str, after: list[tuple[float, ...]]
) -> None:
    found = trace(picture(), at, every_pass=True)
    assert [visit.fate.name for visit in found.visits] == fates.split()
    assert [visit.written[0].after for visit in found.visits] == after
    assert [visit.kind for visit in found.visits] == ["clear", "draw", "draw", "copy"]
    assert [visit.blend for visit in found.visits] == ["none", "none", "add", "none"]
    assert (found.outside, found.discarded) == (fates.count("OUT"), fates.count("DISC"))
    copied = [(r.texture, r.texel.x, r.texel.y, r.value) for r in found.visits[3].reads]
    expected = ("u", at[0] + 2, 0, (1.0, 2.0, 3.0, 4.0))
    assert copied == ([expected] if found.visits[3].fate is Fate.WRITTEN else [])


def rows(found: Trace) -> list[list[str]]:
    """The words of each row of the table."""
    [grid] = found.grids()
    return [" ".join(map(plain_entry, row)).split() for row in grid.rows]


@pytest.mark.filterwarnings("ignore:.*undefined in the specification")
@settings(max_examples=15, deadline=None)
@given(plans(), st.data())
def test_the_last_value_is_the_result(made: Made, data: Any) -> None:
    """Of random plans: each texture's texel, as an observer of the run finds it."""
    drawn = sorted({name for pass_ in passes(made.plan) for name in written_by(pass_)})
    if not drawn:
        return
    name = data.draw(st.sampled_from(drawn))
    extent = made.plan.texture(name).extent
    x, y = (data.draw(st.integers(0, side - 1)) for side in (extent.width, extent.rows))
    seen: dict[int, tuple[float, ...]] = {}

    def observe(number: int, pass_: Any, read: Any) -> None:
        if name in written_by(pass_):
            seen[number + 1] = tuple(read(name)[y, x].tolist())

    inputs = made.operands
    find_executor("numpy").run(made.plan, inputs, observer=observe)
    builder = PlanBuilder.continuing(made.plan)
    found = trace(builder, (x, y), inputs, [name], executor="numpy", every_pass=True)
    assert [visit.pass_ for visit in found.visits] == list(seen)
    for visit, value in zip(found.visits, seen.values(), strict=True):
        np.testing.assert_array_equal(visit.written[0].after, value)
        if visit.fate is not Fate.WRITTEN:
            np.testing.assert_array_equal(visit.written[0].after, visit.written[0].before)


@pytest.mark.parametrize(
    ("count", "arguments", "message"),
    [
        (2, (4, 0), "there is no texel 4,0 in x, which is 4×1"),
        (2, (0, -1), "there is no texel 0,-1 in x"),
        (2, (0, 0, ["b"]), "no pass of plan jacobi writes 'b'; choose from x, y"),
        (0, (0, 0), "has no pass that writes a texture"),
    ],
)
def test_what_cannot_be_traced(count: int, arguments: tuple[Any, ...], message: str) -> None:
    x, y, *textures = arguments
    with pytest.raises(InputError, match=message):
        trace(jacobi(count), (x, y), {"b": B}, *textures)


# Instructions ------------------------------------------------------------------------------------


def traced(*given: Any, at: tuple[int, int] = (0, 0), **more: Any) -> Trace:
    """A program on a rectangle, traced."""
    return trace_drawing(make_drawing(*given, **more), at)


def steps_of(found: Trace) -> tuple[TracedInstruction, ...]:
    """What a program of one pass executed."""
    [visit] = found.visits
    assert visit.steps is not None
    return visit.steps


def pixel_of(found: Trace) -> tuple[float, ...]:
    return found.visits[-1].written[0].after


TEXT = """!!ARBfp1.0
TEMP R;
PARAM c = { 0.5, 0.25, 8, 1 };
TEX R, fragment.texcoord[0], texture[0], RECT;
MUL_SAT R.xy, -R.yxzw, c;
KIL R.z;
SWZ R, R, x, -y, 0, -1;
MOV result.color, R;
END
"""
TEXELS = np.arange(3 * 4 * 4, dtype=np.float32).reshape(3, 4, 4) - 6
TEXTURES = {0: ("RECT", TEXELS)}


def test_every_step_of_a_fragment_that_lives() -> None:
    found = traced(TEXT, 4, 3, TEXTURES, at=(1, 0))
    a, b, c, d, e = steps = steps_of(found)
    assert [s.number for s in steps] == [1, 2, 3, 4, 5]
    assert [s.line for s in steps] == [4, 5, 6, 7, 8]
    assert [o.text for o in a.operands] == ["fragment.texcoord[0]"]
    assert a.operands[0].value == (1.5, 0.5, 0, 1)
    assert (a.destination, a.result) == ("R", (-2, -1, 0, 1))
    assert a.texel is not None
    assert (a.texel.unit, a.texel.x, a.texel.y, a.texel.linear) == (0, 1, 0, False)
    assert [o.text for o in b.operands] == ["-R.yxzw", "c"]
    assert [o.value for o in b.operands] == [(1, 2, 0, -1), (0.5, 0.25, 8, 1)]
    assert (b.destination, b.result, b.texel) == ("R.xy", (0.5, 0.5, None, None), None)
    assert [o.value for o in c.operands] == [(0, 0, 0, 0)]
    assert (c.destination, c.result, c.discards) == (None, None, False)
    assert [(o.text, o.value) for o in d.operands] == [("R, x, -y, 0, -1", (0.5, -0.5, 0, -1))]
    assert d.result == e.result == (0.5, -0.5, 0, -1)
    assert pixel_of(found) == (0.5, -0.5, 0, -1)
    assert not found.discarded


def test_it_ends_at_the_kil_that_discards() -> None:
    found = traced(TEXT, 4, 3, TEXTURES, clear=(1, 2, 3, 4))
    steps = steps_of(found)
    assert [s.discards for s in steps] == [False, False, True]
    assert steps[-1].operands[0].value == (-4, -4, -4, -4)
    assert found.discarded == 1
    assert pixel_of(found) == (1, 2, 3, 4)
    text = as_text(found.grids())
    assert "a KIL discards the fragment" in text
    assert "MOV result.color" not in text


@pytest.mark.parametrize(
    ("target", "shape", "coordinate", "place"),
    [
        ("1D", (8,), (0.3, 0, 0, 1), (2, 0, 0)),
        ("RECT", (4, 8), (99, -99, 0, 1), (7, 0, 0)),
        ("3D", (2, 4, 8), (0.3, 0.9, 0.6, 1), (2, 3, 1)),
        ("CUBE", (6, 4, 4), (0.1, 0.2, -1, 1), (1, 1, 5)),
    ],
)
def test_the_texel_that_is_read(
    target: str, shape: tuple[int, ...], coordinate: tuple[float, ...], place: tuple[int, int, int]
) -> None:
    texels = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    text = f"!!ARBfp1.0 TEX result.color, fragment.texcoord[0], texture[3], {target}; END"
    given = {3: (target, texels)}
    [step] = steps_of(traced(text, 2, 2, given, at=(1, 1), texcoords={0: coordinate}))
    texel = step.texel
    assert texel is not None
    assert (texel.x, texel.y, texel.layer) == place
    index = {1: (place[0],), 2: (place[1], place[0]), 3: (place[2], place[1], place[0])}
    assert step.result is not None
    assert step.result[0] == texels[index[len(shape)]]


def test_the_texel_of_a_mipmap_is_one_of_the_nearest_level() -> None:
    text = "!!ARBfp1.0 TEX result.color, fragment.texcoord[0], texture[0], 2D; END"
    for lod, place in ((0.5, "(2, 1)"), (0.75, "(1, 0) of level 1")):
        given = {0: ("2D", np.eye(4), f"linear-mipmap-linear min-lod={lod}")}
        found = traced(text, 1, 1, given, texcoords={0: (0.6, 0.3, 0, 1)})
        assert f"a mix of the texels around {place} of texture[0]" in as_text(found.grids())


def test_the_alpha_test_is_told_apart_from_a_kil() -> None:
    p = Pipeline("tested")
    target = p.texture("T", 2, 1, format="rgba8", initial=0.5)
    ramp = "!!ARBfp1.0\nMUL result.color, fragment.position.x, 0.5;\nEND"
    p.draw(ramp, into=target, alpha_test="greater,0.5", blend="max", mask="rg")
    p.output("o", target)
    discarded, drawn = (as_text(p.trace((x, 0)).grids()) for x in range(2))
    assert "the alpha test discards the fragment" in discarded
    assert "discards" not in drawn
    assert "blended by max with" in drawn
