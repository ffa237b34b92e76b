"""Colour scales: numbers as colours, the same in figures and in animations.

Scales work for readers who cannot tell red from green, and in grey print: lightness falls with the
distance from 0, on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]
RGB = NDArray[np.uint8]

LEVELS = 192
"""The number of colours of a scale: with those of the text, they fit the palette of a GIF."""

_NEAR = 0.2  # of the largest magnitude

NOT_FINITE: Colour = (214, 40, 160)
"""The colour of NaN and the infinities."""

FAR: Colour = (158, 160, 164)
"""The colour of a placeholder for "no number", far from all others."""

_FAR = 100  # times as far from 0 as all others


def hex_of(colour: Colour) -> str:
    """A colour as Matplotlib and CSS spell it."""
    return "#" + "".join(f"{channel:02x}" for channel in colour)


class ScaleKind(Enum):
    """The kinds of scale, by the signs of its numbers.

    TWO: every number is 0 or 1. ONE_SIGN: no two have opposite signs. DIVERGING: some do.
    """

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


@dataclass(frozen=True)
class ColourScale:
    """Colours for the numbers from `low` to `high`; numbers beyond have the colours of the ends.

    far: numbers outside of the scale that have a colour of their own, FAR.
    """

    kind: ScaleKind
    low: float
    high: float
    far: tuple[float, ...] = ()

    @property
    def anchors(self) -> tuple[Colour, ...]:
        """Its colours of evenly spaced numbers, from `low` to `high`."""
        anchors = _ANCHORS[self.kind]
        return anchors[::-1] if self._is_negative else anchors

    @property
    def _is_negative(self) -> bool:
        """Whether its light end, the one nearer to 0, is the high end."""
        return self.kind is ScaleKind.ONE_SIGN and self.high <= 0 and self.low < 0

    def colours(self, values: NDArray[Any]) -> RGB:
        """The colours of numbers: their shape and a last axis of r, g and b."""
        finite = np.isfinite(values)
        span = self.high - self.low
        with np.errstate(all="ignore"):
            part = (np.where(finite, values, self.low).astype(np.float64) - self.low) / (span or 1)
        if self._is_negative:
            part = 1 - part
        steps = np.round(np.clip(part, 0, 1) * (LEVELS - 1)) / (LEVELS - 1)
        pixels = mixed(steps, _ANCHORS[self.kind])
        pixels[~finite] = NOT_FINITE
        if self.far:
            pixels[np.isin(values, np.array(self.far, np.float32))] = FAR
        return pixels


def mixed(part: NDArray[np.float64], anchors: Sequence[Colour]) -> RGB:
    """Colours between anchors that are evenly spaced from 0 to 1; a new last axis of r, g and b."""
    places = np.linspace(0.0, 1.0, len(anchors))
    channels = [np.interp(part, places, [colour[c] for colour in anchors]) for c in range(3)]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)


def scale_for(
    arrays: Iterable[NDArray[np.float32]], limits: tuple[float, float] | None = None
) -> ColourScale:
    """The scale for all finite numbers of some arrays.

    It runs from the lowest to the highest number; from or to 0 if that is near or all numbers are
    equal; and equally far on both sides of 0 if both signs occur. A number that programs use as a
    placeholder, such as −10000 or 1e30, is not on the scale. limits: the ends, instead of these.
    """
    if limits is not None:
        low, high = limits
        kind = ScaleKind.DIVERGING if low < 0 < high else ScaleKind.ONE_SIGN
        return ColourScale(kind, low, high)
    finite = [np.ravel(array[np.isfinite(array)]) for array in arrays]
    far = _far(finite)
    numbers = np.concatenate([np.empty(0, np.float32), *finite])
    return replace(_scale(numbers[~np.isin(numbers, np.array(far, np.float32))]), far=far)


def _far(arrays: Sequence[NDArray[np.float32]]) -> tuple[float, ...]:
    """The placeholders among finite numbers: one magnitude, far greater than all others.

    It must occur at least twice in an array that has other numbers, too.
    """
    largest = max((float(np.abs(array).max()) for array in arrays if array.size), default=0.0)
    others = [array[np.abs(array) < largest] for array in arrays]
    is_beside = any(
        0 < other.size < array.size - 1 for other, array in zip(others, arrays, strict=True)
    )
    if not is_beside:
        return ()
    rest = np.concatenate(others)
    if np.abs(rest).max() * _FAR > largest or rest.min() == rest.max():
        return ()
    return tuple(m for m in (-largest, largest) if any((array == m).any() for array in arrays))


def _scale(numbers: NDArray[np.float32]) -> ColourScale:
    """The scale for finite numbers."""
    if not numbers.size:
        return ColourScale(ScaleKind.ONE_SIGN, 0.0, 1.0)
    if ((numbers == 0) | (numbers == 1)).all():
        return ColourScale(ScaleKind.TWO, 0.0, 1.0)
    low, high = float(numbers.min()), float(numbers.max())
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
    """The text of a number beside a colour: four digits, or all before the point, and no -0."""
    if 1000 <= abs(value) < 1_000_000:
        return f"{value:.0f}".replace("-", "−")
    return f"{value + 0.0:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
