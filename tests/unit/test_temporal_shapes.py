"""What shapes the code of temporal tiling, on small plans; and what its shaders consist of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_fusion import draw, place
from test_fusion import plan as plan_of

from gpgpu_legacy.algorithms.linear_algebra.jacobi import jacobi
from gpgpu_legacy.lower.analysis.fusion import UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.analysis.neighbourhood import Reach, neighbourhood
from gpgpu_legacy.lower.fused.content import UnsupportedError
from gpgpu_legacy.lower.temporal.content import (
    GroupRoom,
    TemporalContent,
    TemporalShape,
    temporal_content,
    usual_shape,
)
from gpgpu_legacy.plan.plan import Pass, Plan, Repeat
from gpgpu_legacy.plan.textures import Extent

SHAPE = TemporalShape((32, 8), 1, 4, 2)
LARGE = 4096 * 4096
ROOMY = GroupRoom(48 << 10, 16, gains=True)


def content_of(plan: Plan) -> TemporalContent:
    step = next(iter(fused_steps(plan)))
    assert isinstance(step, UnfusedRepeat)
    found = neighbourhood(step, plan)
    assert found is not None
    return temporal_content(found, {texture.name: texture for texture in plan.textures})[0]


def of(*body: Pass) -> TemporalContent:
    return content_of(plan_of(Repeat(3, body)))


BESIDE = (place(0, 1.0), place(1))


def test_a_tile_is_as_much_wider_as_its_iterations_reach() -> None:
    reach = Reach(left=3, right=1, down=0, up=2)
    assert SHAPE.tile == (32, 32)
    assert SHAPE.margins(reach) == ((6, 2), (0, 4))
    assert SHAPE.stored(reach) == (24, 28)


def test_a_boundary_that_is_not_drawn_to_is_kept() -> None:
    found = content_of(jacobi.plan(n=8, passes=4))
    assert found.keeps == ((True, True), (True, True))
    assert found.reach == Reach(2, 2, 2, 2)
    names = ("y", "x", "b")
    assert [names[n] for n in found.live] == ["x"]
    assert [names[n] for n in found.near] == ["y", "x"]


def test_textures_that_end_elsewhere_are_refused() -> None:
    plan = plan_of(Repeat(2, (draw("P", "Q", *BESIDE), draw("Q", "P", *BESIDE))))
    wider = tuple(
        replace(texture, extent=Extent(9, 4)) if texture.name == "P" else texture
        for texture in plan.textures
    )
    with pytest.raises(UnsupportedError, match="more around"):
        content_of(replace(plan, textures=wider))


def test_shapes_fit() -> None:
    small = GroupRoom(4 << 10, 16, gains=True)
    found = content_of(jacobi.plan(n=64, passes=20))
    for room in (ROOMY, small):
        shape = usual_shape(found, LARGE, 10, room)
        assert shape is not None
        assert room.takes(found, shape)
        assert min(shape.stored(found.reach)) > 0
    few = usual_shape(found, LARGE, 1, ROOMY)
    assert few is not None
    assert few.iterations == 1
    assert usual_shape(found, LARGE, 10, GroupRoom(64, 16, gains=True)) is None
    assert usual_shape(found, LARGE, 10, replace(ROOMY, gains=False)) is None


def test_small_rectangles_are_drawn_in_fewer_dispatches() -> None:
    found = content_of(jacobi.plan(n=64, passes=20))
    iterations = [
        shape.iterations
        for fragments in (LARGE, 512 * 512)
        if (shape := usual_shape(found, fragments, 10, ROOMY)) is not None
    ]
    assert iterations[0] < iterations[1]
