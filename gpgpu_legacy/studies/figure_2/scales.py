"""How the values of Figure 2 become greys and texts, so that any matrices can be read.

A scale begins at 0, or at the least value if that is negative. It ends at 1 if the values fill a
quarter of that or more without exceeding it, and else at the greatest value. A, B, and the results
(products and framebuffers) have scales of their own where these differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gpgpu_legacy.studies.figure_2.model import Demonstration

Values = NDArray[np.floating]

_ALL_PANELS = ("A", "B", "product", "framebuffer")
_LEAST_FILLED = 0.25
_SMALL = 5
_MANY_DECIMALS = 3
_FEW_DECIMALS = 2
_LARGEST_PLAIN = 1e4
_SMALLEST_PLAIN = 0.1


@dataclass(frozen=True, eq=False)
class Scale:
    """Greys and texts for some panels.

    names: of the panels. values: all that they show. black, white: the values at the ends.
    most_decimals: of a value in a cell.
    """

    names: tuple[str, ...]
    values: Values
    black: float
    white: float
    most_decimals: int

    @property
    def title(self) -> str:
        """What the panels are, for the legend."""
        if self.names == _ALL_PANELS:
            return "value of a texel"
        return " and ".join(self.names)

    @property
    def has_nan(self) -> bool:
        """Whether a value is NaN."""
        return bool(np.isnan(self.values).any())

    @property
    def ticks(self) -> tuple[str, str, str]:
        """The values at the ends and in the middle."""
        low, high = self.values.min(initial=0.0), self.values.max(initial=0.0)
        middle = (self.black + self.white) / 2
        return (
            f"{'≤ ' if low < self.black else ''}{self.black:.3g}",
            f"{middle:.3g}",
            f"{'≥ ' if high > self.white else ''}{self.white:.3g}",
        )

    def level(self, value: float) -> int | None:
        """The grey, from 0 to 255; None for NaN, which has none."""
        if np.isnan(value):
            return None
        share = (value - self.black) / (self.white - self.black)
        return round(255 * min(max(share, 0.0), 1.0))

    @cached_property
    def _decimals(self) -> int | None:
        """As few as show all values exactly, but not more than `most_decimals`.

        None where the largest values are so large or small that a power of ten tells more.
        """
        finite = self.values[np.isfinite(self.values)].astype(np.float64)
        if not _SMALLEST_PLAIN <= np.abs(finite).max(initial=_SMALLEST_PLAIN) < _LARGEST_PLAIN:
            return None
        for decimals in range(self.most_decimals):
            if np.array_equal(np.round(finite, decimals), finite):
                return decimals
        return self.most_decimals

    def text(self, value: float) -> str:
        """A value as it is written in its cell."""
        if not np.isfinite(value):
            return f"{value:g}"
        return f"{value:.1e}" if self._decimals is None else f"{value:.{self._decimals}f}"

    @property
    def texts(self) -> Iterable[str]:
        """The texts of all values."""
        return map(self.text, map(float, self.values.flat))


def scales_of(demonstration: Demonstration) -> tuple[Scale, ...]:
    """The scales of a demonstration: panels that can share one do."""
    frames = demonstration.frames
    groups: dict[tuple[str, ...], list[Values]] = {
        ("A",): [demonstration.a, *(frame.column for frame in frames)],
        ("B",): [demonstration.b, *(frame.row for frame in frames)],
        ("product", "framebuffer"): [
            *(frame.product for frame in frames),
            *(frame.framebuffer for frame in frames),
        ],
    }
    largest = (*demonstration.a.shape, *demonstration.b.shape)
    shared: dict[tuple[float, float], Scale] = {}
    for names, panels in groups.items():
        values = np.concatenate([panel.ravel() for panel in panels])
        ends = _ends(values)
        before = shared.get(ends)
        shared[ends] = Scale(
            names if before is None else (*before.names, *names),
            values if before is None else np.concatenate([before.values, values]),
            *ends,
            _FEW_DECIMALS if max(largest) > _SMALL else _MANY_DECIMALS,
        )
    return tuple(shared.values())


def scale_for(scales: Sequence[Scale], name: str) -> Scale:
    """The scale of a panel, by the panel's name."""
    return next(scale for scale in scales if name in scale.names)


def _ends(values: Values) -> tuple[float, float]:
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    span = max(high, -low)
    white = 1.0 if span == 0 or (_LEAST_FILLED <= high <= 1) else float(high)
    return float(low), white
