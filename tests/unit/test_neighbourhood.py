"""Which Repeats read their own results at bounded offsets, on small plans made by hand."""

from __future__ import annotations

import pytest
from drawing import program
from test_fusion import KILLS, WHOLE, draw, place, plan

from gpgpu_legacy.algorithms.linear_algebra.jacobi import jacobi
from gpgpu_legacy.lower.analysis.fusion import UnfusedRepeat as Unfused
from gpgpu_legacy.lower.analysis.fusion import fused_steps
from gpgpu_legacy.lower.analysis.neighbourhood import (
    MOST_REACH,
    Neighbourhood,
    Reach,
    neighbourhood,
)
from gpgpu_legacy.lower.lookups import AffineLookup, NeighbourLookup
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import (
    ClearPass,
    CopyPass,
    Pass,
    Plan,
    Repeat,
)
from gpgpu_legacy.plan.textures import (
    Filter,
    Rect,
    Sampler,
)

COPY = CopyPass("P", WHOLE, "Q", WHOLE)


def of(made: Plan) -> Neighbourhood | None:
    """Of a plan's first step."""
    step = next(iter(fused_steps(made)))
    assert isinstance(step, Unfused)
    return neighbourhood(step, made)


def known(*body: Pass, count: int = 3) -> Neighbourhood:
    found = of(plan(Repeat(count, body)))
    assert found is not None
    return found


def lookups(found: Neighbourhood, number: int = 0) -> tuple[object, ...]:
    return found.lookups[number]


def test_jacobis_relaxation() -> None:
    found = of(jacobi.plan(n=8, passes=6))
    assert found is not None
    assert (found.count, found.written, found.live) == (3, ("y", "x"), {"x"})
    assert (found.width, found.height) == (8, 8)
    assert found.origins == {"x": (1, 1), "y": (1, 1)}
    assert found.reaches == (Reach(1, 1, 1, 1),) * 2
    assert found.reach == Reach(2, 2, 2, 2)
    assert found.wraps == (False, False)
    west, east, south, north, b = lookups(found)
    assert [west, east] == [NeighbourLookup("x", -1, 0), NeighbourLookup("x", 1, 0)]
    assert [south, north] == [NeighbourLookup("x", 0, -1), NeighbourLookup("x", 0, 1)]
    assert isinstance(b, AffineLookup)


def test_what_fragments_keep_is_live() -> None:
    beside = (place(0, 1.0), place(1))
    assert known(draw("P", "Q", *beside), draw("Q", "P")).live == {"Q"}
    assert known(draw("P", "Q", *beside, text=KILLS), draw("Q", "P")).live == {"P", "Q"}
    added = draw("P", "Q", *beside, blend=ADD)
    assert known(added, draw("Q", "P")).live == {"P", "Q"}
    late = draw("P", "Q", *beside, blend=ADD)
    assert known(draw("P", "Q", *beside), late, draw("Q", "P")).live == {"Q"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param((draw("P", "Q", place(0, 0.25), place(1)), COPY), id="off the centre"),
        pytest.param((draw("P", "Q", place(0, dx=2.0), place(1)), COPY), id="every other texel"),
        pytest.param((draw("P", "Q", place(0, dx=-1.0), place(1)), COPY), id="mirrored"),
        pytest.param((draw("P", "Q", place(0, step=1.0), place(1)), COPY), id="one that moves"),
        pytest.param((draw("P", "Q", place(0, MOST_REACH + 1.0), place(1)), COPY), id="too far"),
        pytest.param((draw("P", "Q", place(0, 1.0), place(1)),
                      CopyPass("P", Rect(0, 0, 5, 4), "Q", Rect(0, 0, 5, 4))), id="a part"),
        pytest.param((draw("P", "Q", place(0, 1.0), place(1)), COPY, ClearPass("S")), id="a clear"),
        pytest.param((draw("P", "S", read="Q", sampler=Sampler(Filter.LINEAR)), COPY),
                     id="filtered"),
        pytest.param((draw("P", "S", place(0), place(1, 1.0), read="P"), COPY), id="its target"),
    ],
)  # fmt: skip
def test_these_are_left_alone(body: tuple[Pass, ...]) -> None:
    assert of(plan(Repeat(3, body))) is None


def test_a_dependent_lookup_is_left_alone() -> None:
    chases = program(
        "TEX R0, fragment.texcoord[0], texture[0], RECT;", "TEX R0, R0, texture[0], RECT;",
        "MOV result.color, R0;",
    )  # fmt: skip
    assert of(plan(Repeat(3, (draw("P", "Q", text=chases), COPY)))) is None
