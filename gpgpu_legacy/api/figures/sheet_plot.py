"""A plan's passes as a sheet of panels, each with the texture that its pass wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.textures import Extent, Format, Rect, Texture
from gpgpu_legacy.present.animation import texel_picture
from gpgpu_legacy.present.colours import (
    FAR,
    NOT_FINITE,
    RGB,
    Colour,
    ColourScale,
    ScaleKind,
    hex_of,
    is_dark,
    short_number,
)
from gpgpu_legacy.present.plot import COLOURS, GREY, INK, add_head, new_figure
from gpgpu_legacy.runtime.observed import PassPlace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn
    from matplotlib.figure import SubFigure


LONGEST = 8
"""The largest ratio of a picture's sides; the texels of longer textures are stretched."""


@dataclass(frozen=True, eq=False)
class Panel:
    """A texture after a pass, or with an input before the first pass.

    place: the position of the pass; None for an input. what: the file name of the program or
    kernel, or `copy` or `clear`; for an input, its name. rect: the part of the texels that was
    drawn or copied, if not all. texels: (rows, W, channels) float32, row 0 first, of the whole
    texture.
    """

    place: PassPlace | None
    what: str
    texture: Texture
    rect: Rect | None
    texels: F32

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the texels."""
        rows, columns, _ = self.texels.shape
        return columns, rows

    @property
    def stretch(self) -> tuple[int, int]:
        """How many times wider and higher its texels are drawn, so that no texture is a line."""
        columns, rows = self.size
        return max(rows // (LONGEST * columns), 1), max(columns // (LONGEST * rows), 1)

    @property
    def stretched(self) -> tuple[int, int]:
        """Columns and rows of texels as they are drawn."""
        (columns, rows), (wide, high) = self.size, self.stretch
        return columns * wide, rows * high

    @property
    def number(self) -> int:
        """The number of its pass; 0 for an input."""
        return self.place.number if self.place else 0

    @property
    def kind(self) -> tuple[Extent, Format]:
        """The key of similar textures: size and format."""
        return self.texture.extent, self.texture.format


class ShownPanel(NamedTuple):
    """A panel, the channels that are shown (none for a picture), and their scale and its name."""

    panel: Panel
    channels: tuple[int, ...]
    name: str
    scale: ColourScale

    @property
    def layout(self) -> tuple[int, int]:
        """The columns and rows of its pictures: one for each channel, r and g above b and a."""
        count = len(self.channels) or 1
        return min(count, 2), ceil(count / 2)


# Lengths are in inches, sizes of text in points.
_BOX = 2.05  # the width of a panel's picture
_LABELS, _GAP = 0.6, 0.3  # the words of a panel, and the space between panels
_BAR_ROW = 0.55
_SMALL, _NAME = 7.5, 9.0
_POINTS = 72  # in an inch
_LARGEST_NUMBER, _SMALLEST_NUMBER = 7.5, 5.0
_LONGEST_WORDS = 44  # letters below a picture

_TALLEST = 1.5  # of pictures: height over width
_SHEET_ASPECT = 1.5  # width over height of the whole, about that of a screen
_MOST_COLUMNS = 8
_MOST_NUMBERED = 8  # rows or columns of texels whose values are printed
_LETTERS = "rgba"

_MARK = COLOURS[2]
_EDGE = "#9a9a94"


def sheet(shown: Sequence[ShownPanel], title: str, words: tuple[str, str]) -> Drawn:
    """Draw the panels in rows, with a head above them, and value scales below.

    words: the line below the title, before and after the sizes.
    """
    bars: dict[str, ColourScale | Colour] = {one.name: one.scale for one in shown if one.channels}
    if not all(np.isfinite(one.panel.texels).all() for one in shown):
        bars["NaN or infinite"] = NOT_FINITE
    for one in shown:
        for number in one.scale.far:
            bars[f"{short_number(number)}, far from the rest"] = FAR
    sizes = {_size(one.panel) for one in shown}
    width, height = _BOX + _GAP, _LABELS + _BOX * max(map(_aspect, shown)) + _GAP
    columns = _columns(len(shown), width, height)
    rows, bar_rows = ceil(len(shown) / columns), ceil(len(bars) / max(columns, 2))
    heights = [rows * height, bar_rows * _BAR_ROW]
    figure = new_figure(max(columns, 2) * width, sum(heights))
    parts = figure.subfigures(
        1 + bool(bars), 1, squeeze=False, height_ratios=heights[: 1 + bool(bars)]
    )
    places = parts[0, 0].subfigures(rows, columns, squeeze=False)
    for part in figure.findobj(type(places[0, 0])):
        part.set_facecolor("none")
    for one, place in zip(shown, places.flat, strict=False):
        _draw_panel(place, one, has_size=len(sizes) > 1)
    if bars:
        scales = parts[1, 0].subplots(bar_rows, max(columns, 2), squeeze=False)
        for axes in scales.flat[len(bars) :]:
            axes.set_axis_off()
        for axes, (name, bar) in zip(scales.flat, bars.items(), strict=False):
            _draw_bar(_framed(axes), bar)
            axes.set_title(name, loc="left", fontsize=_SMALL, color=GREY, pad=3)
    passes, executor = words
    alike = sizes if len(sizes) == 1 else ()
    add_head(figure, title, " · ".join([passes, *alike, "row 0 at the bottom", executor]))
    return figure


def _draw_panel(place: SubFigure, shown: ShownPanel, *, has_size: bool) -> None:
    """Draw a panel's channels, with its name above and what drew it below."""
    panel, channels, _, scale = shown
    name, what = _labels(panel)
    place.suptitle(name, fontsize=_NAME, weight="bold", color=INK)
    said = " · ".join(filter(None, [what, _size(panel) * has_size]))
    cut = said if len(said) <= _LONGEST_WORDS else f"{said[:_LONGEST_WORDS]}…"
    place.supxlabel(cut or " ", fontsize=_SMALL, color=GREY)
    across, up = shown.layout
    parts = place.subplots(up, across, squeeze=False)
    for axes in parts.flat[max(len(channels), 1) :]:
        axes.set_axis_off()
    for axes, channel in zip(parts.flat, channels or (None,), strict=False):
        if channel is not None and panel.texture.format.channels > 1:
            axes.set_title(_LETTERS[channel], loc="left", fontsize=_SMALL, color=GREY, pad=2)
        _draw_texels(_framed(axes), panel, channel, scale, _POINTS * _BOX / across)


def _framed(axes: Axes) -> Axes:
    """Axes without ticks, in a thin frame."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(_EDGE)
    axes.spines[:].set_linewidth(0.6)
    return axes


def _draw_texels(
    axes: Axes, panel: Panel, channel: int | None, scale: ColourScale, points: float
) -> None:
    """Draw a channel in the colours of its scale, or a texture as a picture.

    The part that the pass drew has a frame. points: the width of the picture.
    """
    from matplotlib.patches import Rectangle

    if channel is None:
        colours = texel_picture(panel.texels)[::-1]
    else:
        colours = scale.colours(panel.texels[..., channel])
    (columns, rows), (wide, high) = panel.size, panel.stretch
    axes.imshow(
        colours, origin="lower", interpolation="nearest", extent=(0, columns, 0, rows),
        aspect=high / wide,
    )  # fmt: skip
    if channel is not None and max(rows, columns) <= _MOST_NUMBERED:
        side = min(points / columns, points * _TALLEST / rows)
        _draw_numbers(axes, panel.texels[..., channel], colours, scale, side)
    if (rect := panel.rect) is not None:
        frame = (rect.x, rect.y), rect.width, rect.height
        axes.add_patch(Rectangle(*frame, fill=False, edgecolor=_MARK))


def _draw_bar(axes: Axes, bar: ColourScale | Colour) -> None:
    """Draw a colour, or a value scale with labels: its ends and 0 or the middle, or two values."""
    if not isinstance(bar, ColourScale):
        axes.set_facecolor(hex_of(bar))
        return
    if bar.kind is ScaleKind.TWO:
        ticks, ends = [0.0, 1.0], (-0.5, 1.5)
        colours = bar.colours(np.array([ticks]))
    else:
        low, high = ends = bar.low, max(bar.high, float(np.nextafter(bar.low, np.inf)))
        ticks = [low, 0.0 if low < 0 < high else (low + high) / 2, high]
        colours = bar.colours(np.linspace(low, high, 256)[None, :])
    axes.imshow(colours, aspect="auto", extent=(*ends, 0, 1), origin="lower")
    axes.set_xticks(ticks, [short_number(value) for value in ticks])
    axes.tick_params(axis="x", length=2, pad=1.5, labelsize=_SMALL, labelcolor=INK, color=_EDGE)


# Sizes and words -----------------------------------------------------------------------------


def _columns(count: int, width: float, height: float) -> int:
    """The number of columns for a sheet with a screen's proportions and few empty places."""

    def badness(columns: int) -> float:
        rows = ceil(count / columns)
        aspect = columns * width / (rows * height + _BAR_ROW)
        return abs(float(np.log(aspect / _SHEET_ASPECT))) + (columns * rows - count) / count

    return min(range(1, min(count, _MOST_COLUMNS) + 1), key=badness)


def _aspect(one: ShownPanel) -> float:
    """The height of a panel's pictures over their width."""
    (width, height), (across, up) = one.panel.stretched, one.layout
    return min(height / width, _TALLEST) * (up / across)


def _labels(panel: Panel) -> tuple[str, str]:
    """The name of a panel, and what drew it."""
    place = panel.place
    if place is None:
        return f"input {panel.what}", "" if panel.what == panel.texture.name else panel.texture.name
    iteration = f" · iteration {place.iteration} of {place.iterations}" if place.is_mixed else ""
    return f"pass {place.number} → {panel.texture.name}", f"{panel.what}{iteration}"


def _size(panel: Panel) -> str:
    columns, rows = panel.size
    return f"{columns}×{rows} {panel.texture.format.name}"


# In a picture --------------------------------------------------------------------------------


def _draw_numbers(axes: Axes, values: F32, colours: RGB, scale: ColourScale, side: float) -> None:
    """Print each value on the scale in its cell, with as many digits as fit.

    The digits are counted from the scale's largest value. side: the side of a cell, in points.
    """
    largest = max(abs(scale.low), abs(scale.high)) or 1.0
    for digits in (4, 3, 2, 1):
        rounded = np.round(values.astype(np.float64), digits - 1 - floor(log10(largest)))
        texts = [
            "" if value in scale.far else short_number(float(near) + 0.0)  # no -0
            for value, near in zip(values.flat, rounded.flat, strict=True)
        ]
        size = min(_LARGEST_NUMBER, 0.5 * side, 1.4 * side / max(1, *map(len, texts)))
        if size >= _SMALLEST_NUMBER:
            break
    for (row, column), text in zip(np.ndindex(values.shape), texts, strict=True):
        colour = "white" if is_dark(colours[row, column]) else INK
        at = column + 0.5, row + 0.5
        axes.text(*at, text, fontsize=size, color=colour, ha="center", va="center")
