"""A texel traced through a plan: values by hand, by NumPy and by other executors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import Made, plans
from sorting import distances, shuffled, sort_plan

from gpgpu_legacy.api.pipeline import Pipeline
from gpgpu_legacy.api.plan_trace import MOST_VISITS, Fate, PlanTrace, trace_plan
from gpgpu_legacy.api.plan_trace_table import plan_trace_record, plan_trace_text
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import Plan, written_by
from gpgpu_legacy.runtime.registry import find_executor
from gpgpu_legacy.serial import plain

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


def jacobi(count: int) -> Plan:
    """x' = (west + east + b) / 2 on a row of four, from 0; coordinates clamp to the edge."""
    p = Pipeline("jacobi")
    b = p.input("b", 1, 4)
    x, y = p.texture("x", 4, 1, initial=0.0), p.texture("y", 4, 1)
    with p.repeat(count):
        p.draw(JACOBI, {0: x, 1: b}, into=y)
        p.swap(x, y)
    p.output("x", x)
    return p.plan()


def values(trace: PlanTrace) -> list[tuple[int, str, float]]:
    """The number of the pass, the texture and the value after it, of one channel."""
    return [
        (visit.place.number, written.texture, written.after[0])
        for visit in trace.visits
        for written in visit.written
    ]


def test_a_relaxation_by_hand() -> None:
    """Texel 1 of x₁ = b/2 = 0.5, 1, 2, 4, of x₂ = 1.25, 2.25, 4.5, 7, and of x₃."""
    found = trace_plan(jacobi(3), {"b": B}, 1, 0)
    assert values(found) == [(1, "y", 1.0), (2, "x", 2.25), (3, "y", (1.25 + 4.5 + 2) / 2)]
    assert found.textures == ("y", "x")
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
    assert second.steps == ()


def test_instructions_of_every_pass() -> None:
    found = trace_plan(jacobi(2), {"b": B}, 1, 0, instructions=True)
    assert [len(visit.steps) for visit in found.visits] == [8, 8]
    last = found.visits[1].steps[-1]
    assert last.operands[0].value == (4.5, 0.0, 0.0, 3.0)  # alpha of r32f reads 1, three times
    assert last.result == (2.25, 0.0, 0.0, 1.5)


@settings(max_examples=10)
@given(st.integers(0, 15), st.integers(0, 3))
def test_a_sort_by_numpy(x: int, y: int) -> None:
    """The values of one place, and its partners, as the network of compare-exchanges has them."""
    numbers = shuffled(16, 4)
    found = trace_plan(sort_plan(16, 4), {"values": numbers}, x, y, every_pass=True)
    at, now = 16 * y + x, numbers.ravel().copy()
    places = np.arange(now.size)
    for visit, (run, distance) in zip(found.visits, distances(now.size), strict=True):
        partner = places ^ distance
        takes_larger = ((places & distance) != 0) != ((places & run) != 0)
        one, other = now, now[partner]
        row, column = divmod(int(partner[at]), 16)
        assert [(r.texel.x, r.texel.y, r.value) for r in visit.reads] == [
            (column, row, (other[at],)),
            (x, y, (one[at],)),
        ]
        now = np.where(takes_larger, np.maximum(one, other), np.minimum(one, other))
        assert visit.written[0].after == (now[at],)
    np.testing.assert_array_equal(now, np.sort(numbers.ravel()))


def test_without_every_pass_those_that_change_the_value() -> None:
    plan, inputs = sort_plan(16, 4), {"values": shuffled(16, 4)}
    every = trace_plan(plan, inputs, 5, 2, every_pass=True).visits
    some = trace_plan(plan, inputs, 5, 2)
    after = [visit.written[0].after for visit in every]
    ends = (every[0], every[-1])
    changed = [v for n, v in enumerate(every) if v in ends or after[n] != after[n - 1]]
    assert list(some.visits) == changed
    assert some.unchanged == len(every) - len(changed) > 0


def test_of_many_passes_the_first_and_the_last_are_described() -> None:
    p = Pipeline("counter")
    x, y = p.texture("x", 1, 1, initial=0.0), p.texture("y", 1, 1)
    add = (
        "!!ARBfp1.0 TEMP r; TEX r, fragment.position, texture[0], RECT; ADD result.color, r, 1; END"
    )
    with p.repeat(250):
        p.draw(add, {0: x}, into=y)
        p.swap(x, y)
    p.output("x", x)
    found = trace_plan(p.plan(), {}, 0, 0)
    half = MOST_VISITS // 2
    numbers = [*range(1, half + 1), *range(251 - half, 251)]
    assert [visit.place.number for visit in found.visits] == numbers
    assert [visit.written[0].after for visit in found.visits] == [(n,) for n in numbers]
    assert (found.left_out, found.unchanged) == (250 - MOST_VISITS, 0)
    assert f"… {250 - MOST_VISITS} passes left out …" in plan_trace_text(found)
    assert len(trace_plan(p.plan(), {}, 0, 0, every_pass=True).visits) == 250


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
    found = trace_plan(picture().plan(), {}, *at, every_pass=True)
    assert [visit.fate.name for visit in found.visits] == fates.split()
    assert [visit.written[0].after for visit in found.visits] == after
    assert [visit.kind for visit in found.visits] == ["clear", "draw", "draw", "copy"]
    assert [visit.blends for visit in found.visits] == [False, False, True, False]
    assert (found.outside, found.discarded) == (fates.count("OUT"), fates.count("DISC"))
    copied = [(r.texture, r.texel.x, r.texel.y, r.value) for r in found.visits[3].reads]
    expected = ("u", at[0] + 2, 0, (1.0, 2.0, 3.0, 4.0))
    assert copied == ([expected] if found.visits[3].fate is Fate.WRITTEN else [])


def test_the_text_says_what_became_of_it() -> None:
    text = plan_trace_text(trace_plan(picture().plan(), {}, 0, 0, every_pass=True))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "texel 0,0 of t, 4×2 r g b a"
    assert "pass 1 of 4: clear, to t" in lines
    assert "a KIL discards the fragment" in lines
    assert "its rectangle does not cover the texel" in lines
    assert "→ t after, by line 1 3 4 5 6" in lines
    third = next(line for line in lines if line.startswith("pass 3 of 4: draw"))
    assert third.endswith(", added to t")
    assert lines[-1] == (
        "4 of 4 passes write t; 1 does not cover the texel; 1 discards its fragment."
    )


def test_several_targets_are_traced_together() -> None:
    p = Pipeline("two")
    x, y = p.texture("x", 2, 1), p.texture("y", 2, 1)
    both = "!!ARBfp1.0 OPTION ARB_draw_buffers; MOV result.color[0], 3; MOV result.color[1], 4; END"
    p.draw(both, into=[x, y])
    add = (
        "!!ARBfp1.0 TEMP r; TEX r, fragment.position, texture[0], RECT; ADD result.color, r, r; END"
    )
    z = p.texture("z", 2, 1)
    p.draw(add, {0: x}, into=z)
    p.draw(add, {0: y}, into=x)
    p.output("z", z)
    p.output("x", x)
    all_three = [(1, "x", 3.0), (1, "y", 4.0), (2, "z", 6.0), (3, "x", 8.0)]
    assert values(trace_plan(p.plan(), {}, 1, 0)) == all_three
    assert values(trace_plan(p.plan(), {}, 1, 0, "y")) == [(1, "y", 4.0)]


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=4, max_size=4))
def test_a_trace_fits_into_80_columns_with_whole_numbers(pixel: list[float]) -> None:
    """Four numbers stand beside the name where there is room, else below it."""
    p = Pipeline("copied")
    a, b = p.input("a", 1, 1, packing="image"), p.texture("b", 1, 1, format="rgba32f")
    add = "!!ARBfp1.0 TEMP r; TEX r, fragment.position, texture[0], RECT; MOV result.color, r; END"
    p.draw(add, {0: a}, into=b)
    p.output("b", b)
    text = plan_trace_text(trace_plan(p.plan(), {"a": [[pixel]]}, 0, 0))
    given_words = [str(np.float32(value)).removesuffix(".0") for value in pixel]
    columns = [line.split()[-4:] for line in text.splitlines()]
    assert columns.count(given_words) >= 2
    assert max(map(len, text.splitlines())) <= 80


def test_a_filtered_lookup() -> None:
    """Half-way between texels 0 and 1 of 1, 3: the filter gives 2, from around texel 1."""
    p = Pipeline("mix")
    a = p.input("a", 1, 2, kind="2D")
    x = p.texture("x", 1, 1)
    text = "!!ARBfp1.0 TEX result.color, {0.5, 0.5, 0, 1}, texture[0], 2D; END"
    p.draw(text, {0: (a, "GL_LINEAR")}, into=x)
    p.output("x", x)
    found = trace_plan(p.plan(), {"a": [[1, 3]]}, 0, 0)
    [read] = found.visits[0].reads
    assert (read.texel.linear, read.value) == (True, (2.0,))
    assert "reads around a (1, 0), line 1" in plan_trace_text(found)


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
    found = trace_plan(made.plan, inputs, x, y, name, executor="numpy", every_pass=True)
    assert [visit.place.number for visit in found.visits] == list(seen)
    for visit, value in zip(found.visits, seen.values(), strict=True):
        np.testing.assert_array_equal(visit.written[0].after, value)
        if visit.fate is not Fate.WRITTEN:
            np.testing.assert_array_equal(visit.written[0].after, visit.written[0].before)


def test_other_executors_trace_alike() -> None:
    plan, inputs = sort_plan(8, 4), {"values": shuffled(8, 4)}
    one = trace_plan(plan, inputs, 3, 2, executor="numpy")
    other = trace_plan(plan, inputs, 3, 2, executor="jit")
    assert (one.executor, other.executor) == ("numpy", "jit")
    assert one.visits == other.visits


def test_the_json() -> None:
    data = plain(plan_trace_record(trace_plan(jacobi(2), {"b": B * np.inf}, 1, 0)))
    assert data["texel"] == [1, 0]
    assert data["textures"] == ["x", "y"]
    first, second = data["visits"]
    assert (first["pass"], first["iteration"], second["pass"]) == (1, 0, 2)
    assert first["written"] == [{"texture": "y", "before": [0], "after": ["inf"]}]
    assert first["reads"][2]["value"] == ["inf"]
    assert first["steps"] is None
    assert second["fate"] == "written"


@pytest.mark.parametrize(
    ("count", "arguments", "message"),
    [
        (2, (4, 0), "there is no texel 4,0 in x, which is 4×1"),
        (2, (0, -1), "there is no texel 0,-1 in x"),
        (2, (0, 0, "b"), "texture b of plan jacobi is not written by any pass; choose from x, y"),
        (0, (0, 0), "has no pass that writes a texture"),
    ],
)
def test_what_cannot_be_traced(count: int, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        trace_plan(jacobi(count), {"b": B}, *arguments)
