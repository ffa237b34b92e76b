"""Colour scales: numbers as colours, the same in figures and in animations.

Scales are told apart without seeing red from green, and in print without colours: lightness falls
from the end that is next to 0, on both sides of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]
RGB = NDArray[np.uint8]

LEVELS = 192
"""Colours of a scale: with those of text beside it, they fit the palette of a GIF."""

_NEAR = 0.2  # of the largest magnitude

NOT_FINITE: Colour = (214, 40, 160)
"""The colour of NaN and the infinities."""


class ScaleKind(Enum):
    """TWO: every number is 0 or 1. ONE_SIGN: no two have opposite signs. DIVERGING: some do."""

    TWO = "two"
    ONE_SIGN = "one sign"
    DIVERGING = "diverging"


_ANCHORS: dict[ScaleKind, tuple[Colour, ...]] = {
    ScaleKind.TWO: ((255, 255, 255), (32, 33, 36)),
    ScaleKind.ONE_SIGN: (
        (253, 248, 222),
        (197, 229, 186),
        (104, 192, 184),
        (44, 141, 188),
        (38, 84, 154),
        (27, 30, 92),
    ),
    ScaleKind.DIVERGING: (
        (22, 60, 118),
        (62, 126, 190),
        (168, 203, 230),
        (248, 247, 244),
        (242, 184, 152),
        (208, 88, 62),
        (136, 18, 40),
    ),
}


@dataclass(frozen=True, slots=True)
class ColourScale:
    """Colours for the numbers from `low` to `high`; those beyond have the colours of the ends."""

    kind: ScaleKind
    low: float
    high: float

    def colours(self, values: NDArray[Any]) -> RGB:
        """The colours of numbers: their shape and a last axis of r, g and b."""
        finite = np.isfinite(values)
        span = self.high - self.low
        with np.errstate(all="ignore"):
            part = (np.where(finite, values, self.low).astype(np.float64) - self.low) / (span or 1)
        if self.kind is ScaleKind.ONE_SIGN and self.high <= 0 and self.low < 0:
            part = 1 - part  # the light end is next to 0
        steps = np.round(np.clip(part, 0, 1) * (LEVELS - 1)) / (LEVELS - 1)
        found = mixed(steps, _ANCHORS[self.kind])
        found[~finite] = NOT_FINITE
        return found


def mixed(part: NDArray[np.float64], anchors: Sequence[Colour]) -> RGB:
    """Colours between anchors that are evenly spaced from 0 to 1; a new last axis of r, g and b."""
    places = np.linspace(0.0, 1.0, len(anchors))
    channels = [np.interp(part, places, [colour[c] for colour in anchors]) for c in range(3)]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)


def scale_for(
    arrays: Iterable[NDArray[np.float32]], limits: tuple[float, float] | None = None
) -> ColourScale:
    """The scale for all finite numbers of some arrays.

    It runs from the lowest to the highest number; from or to 0 where that is near, or where all are
    equal; and where both signs occur, as far on both sides of 0.
    limits: the ends, in place of those.
    """
    lowest, highest, is_two = np.inf, -np.inf, True
    for array in arrays:
        finite = array[np.isfinite(array)]
        if finite.size:
            lowest, highest = min(lowest, finite.min()), max(highest, finite.max())
            is_two = is_two and bool(((finite == 0) | (finite == 1)).all())
    if limits is not None:
        low, high = limits
        is_diverging = low < 0 < high
        return ColourScale(ScaleKind.DIVERGING if is_diverging else ScaleKind.ONE_SIGN, low, high)
    if lowest > highest:  # there is no finite number
        return ColourScale(ScaleKind.ONE_SIGN, 0.0, 1.0)
    if is_two:
        return ColourScale(ScaleKind.TWO, 0.0, 1.0)
    low, high = float(lowest), float(highest)
    largest = max(-low, high)
    if low < 0 < high:
        return ColourScale(ScaleKind.DIVERGING, -largest, largest)
    near = largest if low == high else _NEAR * largest
    begin, end = (0.0 if 0 < low <= near else low), (0.0 if -near <= high < 0 else high)
    return ColourScale(ScaleKind.ONE_SIGN, begin, end)


def is_dark(colour: Sequence[int] | RGB) -> bool:
    """Whether white text is more legible on a colour than black text (ITU-R BT.601 luma)."""
    red, green, blue = (int(channel) for channel in colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140


def short_number(value: float) -> str:
    """A number beside a colour: four digits, or all before the point, and no sign before 0."""
    if 1000 <= abs(value) < 1_000_000:
        return f"{value:.0f}".replace("-", "−")
    return f"{value + 0.0:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
