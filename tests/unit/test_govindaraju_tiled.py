"""The product drawn tile by tile: the order of the draws, the edges, the bits of the result."""

from __future__ import annotations

from itertools import groupby

import pytest

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import FragmentPass, Plan

TILED, MULTI = find_product("govindaraju-tiled"), find_product("hall-carr-hart-multi")
WAYS = list(Accumulate)


def drawn(plan: Plan) -> list[tuple[int, int, int, int]]:
    """The rectangles in the order in which they are drawn: x, y, width, height."""
    rects = [pass_.rect for pass_ in passes(plan) if isinstance(pass_, FragmentPass)]
    return [(r.x, r.y, r.width, r.height) for r in rects]  # type: ignore[misc]


@pytest.mark.parametrize("way", WAYS)
def test_a_tile_goes_through_all_of_its_passes_before_the_next_one(way: Accumulate) -> None:
    """20×12 by 12×26: 10×13 texels, tiles of 4, and 6 / 2 = 3 passes each; by hand."""
    plan = TILED.plan(m=20, l=12, n=26, block=2, tile=4, accumulate=way)
    tiles = [(rect, len(list(run))) for rect, run in groupby(drawn(plan))]
    assert tiles == [
        (rect, 3)
        for rect in [
            (0, 0, 4, 4), (4, 0, 4, 4), (8, 0, 4, 4), (12, 0, 1, 4),
            (0, 4, 4, 4), (4, 4, 4, 4), (8, 4, 4, 4), (12, 4, 1, 4),
            (0, 8, 4, 2), (4, 8, 4, 2), (8, 8, 4, 2), (12, 8, 1, 2),
        ]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tile", "message"),
    [
        (0, "tile is 0; it must be at least 1"),
        (2.5, "govindaraju-tiled: tile is 2.5; it must be an integer"),
        (
            2,
            "the product has 1056 tiles of 2×2 texels, and at most 1024 are planned; choose larger "
            "tiles",
        ),
    ],
)
def test_a_tile_that_does_not_fit_is_refused_in_one_line(tile: float, message: str) -> None:
    with pytest.raises(InputError) as raised:
        TILED.plan(m=128, l=8, n=130, tile=tile)
    assert str(raised.value) == message
