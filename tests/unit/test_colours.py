"""Colour scales: where they begin and end, and which colours numbers have."""

from __future__ import annotations

import numpy as np
import pytest

from gpgpu_legacy.present.colours import (
    FAR,
    ColourScale,
    ScaleKind,
    scale_for,
    short_number,
)

TWO, ONE, DIVERGING = ScaleKind.TWO, ScaleKind.ONE_SIGN, ScaleKind.DIVERGING


@pytest.mark.parametrize(
    ("numbers", "scale"),
    [
        ([0, 1, 1], (TWO, 0, 1)),
        ([0, 0.5, 2], (ONE, 0, 2)),
        ([1.5, 2], (ONE, 1.5, 2)),
        ([7, 7], (ONE, 0, 7)),
        ([-2, -0.1], (ONE, -2, 0)),
        ([-1, 3], (DIVERGING, -3, 3)),
        ([-5, 0, 3, np.nan, np.inf], (DIVERGING, -5, 5)),
        ([np.nan, -np.inf], (ONE, 0, 1)),
    ],
)
def test_where_a_scale_begins_and_ends(
    numbers: list[float], scale: tuple[ScaleKind, float, float]
) -> None:
    array = np.array(numbers, np.float32)
    assert scale_for([array[:1], array[1:]]) == ColourScale(*scale)


@pytest.mark.parametrize(
    ("arrays", "scale"),
    [
        ([[-10000, -10000, 3], [1, 64, 3]], ColourScale(ONE, 0, 64, far=(-10000,))),
        ([[1e30, -1e30, -1, 2, 1e30]], ColourScale(DIVERGING, -2, 2, far=(-1e30, 1e30))),
        ([[1e30, 1, 2]], ColourScale(ONE, 0, 1e30)),  # one texel: a peak
        ([[255, 255, 0, 0]], ColourScale(ONE, 0, 255)),  # two numbers
        ([[99, 99, 0.5, 1]], ColourScale(ONE, 0, 99)),  # not far
        ([[1, 2], [1e6, 1e6]], ColourScale(ONE, 0, 1e6)),  # all has grown
    ],
)
def test_a_number_that_stands_for_none_is_not_on_the_scale(
    arrays: list[list[float]], scale: ColourScale
) -> None:
    found = scale_for([np.array(array, np.float32) for array in arrays])
    ends = (scale.low, scale.high, *scale.far)
    assert found.kind is scale.kind
    assert (found.low, found.high, *found.far) == pytest.approx(ends)
    assert (found.colours(np.float32(found.far)) == FAR).all()


def test_limits_that_are_given() -> None:
    assert scale_for([np.zeros(2, np.float32)], (-1, 4)) == ColourScale(DIVERGING, -1, 4)
    assert scale_for([np.zeros(2, np.float32)], (1, 4)) == ColourScale(ONE, 1, 4)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-1.5, "−1.5"),
        (0.123456, "0.1235"),
        (-123456.0, "−123456"),
        (1.25e-7, "1.25e−7"),
        (3e20, "3e+20"),
    ],
)
def test_numbers_beside_colours(number: float, text: str) -> None:
    assert short_number(number) == text
