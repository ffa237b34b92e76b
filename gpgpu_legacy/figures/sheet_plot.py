"""A plan's passes as a sheet of panels, each with the texture that its pass wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpgpu_legacy.files import Write
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
from gpgpu_legacy.present.plot import COLOURS, GREY, figure_of, new_figure
from gpgpu_legacy.runtime.observed import PassPlace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn


LONGEST = 8
"""The most times that a picture is longer than wide; texels of longer textures are stretched."""


@dataclass(frozen=True, eq=False)
class Panel:
    """A texture after a pass, or with an input before the first pass.

    place: of the pass; None for an input. what: the file name of the program or kernel, or `copy`
    or `clear`; for an input, its name. rect: the part of the texels that was drawn or copied, if
    not all. texels: (rows, W, channels) float32, row 0 first, of the whole texture.
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
    def number(self) -> int:
        """The number of its pass; 0 for an input."""
        return self.place.number if self.place else 0

    @property
    def kind(self) -> tuple[Extent, Format]:
        """The key of similar textures: size and format."""
        return self.texture.extent, self.texture.format


class ShownPanel(NamedTuple):
    """A panel with the channels that are shown, none for a picture, and their scale, named."""

    panel: Panel
    channels: tuple[int, ...]
    name: str
    scale: ColourScale


# Lengths are in inches, of text in points.
_BOX = 2.05  # the width of a panel's picture
_MARGIN, _GAP = 0.35, 0.28
_HEAD = 0.72  # title and subtitle
_LABEL = 0.40  # two lines above a picture
_BAR_WIDTH, _BAR_HEIGHT, _BAR_ROW = 2.6, 0.13, 0.62
_CHANNEL_GAP = 0.06
_LETTER = 0.14  # above a channel
_POINTS = 72  # in an inch
_LETTER_WIDTH = 0.58  # of its size, on average
_LARGEST_NUMBER, _SMALLEST_NUMBER = 7.5, 5.0

_TALLEST = 1.5  # of pictures: height over width
_SHEET_ASPECT = 1.5  # width over height of the whole, about that of a screen
_MOST_COLUMNS = 8
_MOST_NUMBERED = 8  # rows or columns of texels whose values are printed
_MOST_CELLS = 1024  # texels that are drawn as squares, sharp in every format; more are an image
_LETTERS = "rgba"

_INK, _MARK = COLOURS[0], COLOURS[2]
_EDGE = "#9a9a94"


def sheet_of(shown: Sequence[ShownPanel], title: str, words: tuple[str, str], suffix: str) -> Write:
    """A function that writes a sheet into a file, in one of the formats.

    words: below the title, before and after the sizes.
    """
    return figure_of(_Sheet(shown, title, words).drawn(), suffix)


@dataclass(frozen=True)
class _Box:
    """A rectangle on the sheet: left and top edges from the sheet's own, width and height."""

    left: float
    top: float
    width: float
    height: float


class _Sheet:
    """The panels in rows, a head above them, and value scales below."""

    def __init__(self, shown: Sequence[ShownPanel], title: str, words: tuple[str, str]) -> None:
        self._shown, self._title, self._words = shown, title, words
        self._bars: dict[str, ColourScale | Colour] = {
            one.name: one.scale for one in shown if one.channels
        }
        if not all(np.isfinite(one.panel.texels).all() for one in shown):
            self._bars["NaN or infinite"] = NOT_FINITE
        for one in shown:
            for number in one.scale.far:
                self._bars[f"{short_number(number)}, far from the rest"] = FAR
        self._sizes = {_size(one.panel) for one in shown}
        self._pitch = _BOX + _GAP, _LABEL + max(map(_height, shown)) + _GAP
        self._columns = _columns(len(shown), *self._pitch)
        rows = ceil(len(shown) / self._columns)
        width = 2 * _MARGIN + max(self._columns * self._pitch[0] - _GAP, 2 * _BOX + _GAP)
        self._bar_columns = max(1, int((width - 2 * _MARGIN + _GAP) / (_BAR_WIDTH + _GAP)))
        self._foot = _MARGIN + _HEAD + rows * self._pitch[1]
        bar_rows = ceil(len(self._bars) / self._bar_columns)
        self._size = width, self._foot + bar_rows * _BAR_ROW + _MARGIN / 2
        self._figure = new_figure(*self._size)
        self._figure.set_layout_engine("none")

    def drawn(self) -> Drawn:
        """The figure with everything on it."""
        self._draw_head()
        for number, one in enumerate(self._shown):
            row, column = divmod(number, self._columns)
            left = _MARGIN + column * self._pitch[0]
            self._draw_panel(one, left, _MARGIN + _HEAD + row * self._pitch[1])
        for number, (name, bar) in enumerate(self._bars.items()):
            row, column = divmod(number, self._bar_columns)
            left = _MARGIN + column * (_BAR_WIDTH + _GAP)
            top = self._foot + row * _BAR_ROW
            self._text(left, top + 0.09, name, 7.5, color=GREY)
            box = _Box(left, top + 0.18, _BAR_WIDTH, _BAR_HEIGHT)
            if isinstance(bar, ColourScale):
                self._draw_bar(box, bar)
            else:
                self._axes(box).set_facecolor(hex_of(bar))
        return self._figure

    def _draw_head(self) -> None:
        passes, executor = self._words
        sizes = self._sizes if len(self._sizes) == 1 else ()
        words = "  ·  ".join([passes, *sizes, "row 0 at the bottom", executor])
        self._text(_MARGIN, _MARGIN + 0.12, self._title, 13, weight="bold")
        self._text(_MARGIN, _MARGIN + 0.40, words, 8.5, color=GREY)

    def _draw_panel(self, shown: ShownPanel, left: float, top: float) -> None:
        panel, channels, _, scale = shown
        first, second = _labels(panel)
        words = [second] if len(self._sizes) == 1 else [second, _size(panel)]
        self._line(left, top + 0.08, first, 9, weight="bold")
        self._line(left, top + 0.26, " · ".join(filter(None, words)), 7.5, color=GREY)
        columns, rows = min(len(channels), 2) or 1, ceil(len(channels) / 2) or 1
        whole = _Box(left, top + _LABEL, _BOX * _shape(panel.size)[0], _height(shown))
        letter = _LETTER if channels and panel.texture.format.channels > 1 else 0.0
        for number, channel in enumerate(channels or (None,)):
            box = _cell(whole, number, columns, rows, letter)
            if letter and channel is not None:
                self._text(box.left, box.top - _LETTER / 2, _LETTERS[channel], 7, color=GREY)
            self._draw_texels(box, panel, channel, scale)

    def _draw_texels(
        self, box: _Box, panel: Panel, channel: int | None, scale: ColourScale
    ) -> None:
        """A channel in the colours of its scale, or a texture as a picture."""
        axes, values = self._axes(box), None
        if channel is None:
            colours = texel_picture(panel.texels)[::-1]
        else:
            values = panel.texels[..., channel]
            colours = scale.colours(values)
        rows, columns, _ = colours.shape
        has_numbers = max(rows, columns) <= _MOST_NUMBERED
        if rows * columns <= _MOST_CELLS:
            cells = axes.pcolormesh(np.arange(columns + 1), np.arange(rows + 1), colours)
            if has_numbers:
                cells.set_edgecolor("white")
                cells.set_linewidth(0.4)
        else:
            extent = (0, columns, 0, rows)
            axes.imshow(
                colours, origin="lower", interpolation="nearest", extent=extent, aspect="auto"
            )
        axes.set_xlim(0, columns)
        axes.set_ylim(0, rows)
        if values is not None and has_numbers:
            cell = _POINTS * box.width / columns, _POINTS * box.height / rows
            _draw_numbers(axes, values, colours, scale, cell)
        if panel.rect is not None:
            _draw_mark(axes, panel.rect, rows, columns)

    def _draw_bar(self, box: _Box, scale: ColourScale) -> None:
        """A value scale: its ends and 0 or the middle labelled, or the only two values."""
        axes = self._axes(box)
        if scale.kind is ScaleKind.TWO:
            ticks, extent = [0.0, 1.0], (-0.5, 1.5, 0, 1)
            colours = scale.colours(np.array([ticks]))
        else:
            low, high = scale.low, max(scale.high, np.nextafter(scale.low, np.inf))
            middle = 0.0 if low < 0 < high else (low + high) / 2
            ticks, extent = [low, middle, high], (low, high, 0, 1)
            colours = scale.colours(np.linspace(low, high, 256)[None, :])
        axes.imshow(colours, aspect="auto", extent=extent, origin="lower")
        axes.set_xticks(ticks, [short_number(value) for value in ticks])
        axes.tick_params(axis="x", length=2, pad=1.5, labelsize=7, labelcolor=_INK, color=_EDGE)
        if len(ticks) > 2:
            first, _, last = axes.get_xticklabels()
            first.set_horizontalalignment("left")
            last.set_horizontalalignment("right")

    def _axes(self, box: _Box) -> Axes:
        """Axes without ticks, in a thin frame."""
        width, height = self._size
        bottom = height - box.top - box.height
        place = box.left / width, bottom / height, box.width / width, box.height / height
        axes = self._figure.add_axes(place)
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_color(_EDGE)
            spine.set_linewidth(0.6)
        return axes

    def _line(self, left: float, middle: float, text: str, size: float, **style: Any) -> None:
        """A line as wide as a panel at most: smaller, if it is long, and cut if it is very long."""
        most = _BOX * _POINTS / _LETTER_WIDTH  # characters of one point
        size = min(size, max(most / max(len(text), 1), _SMALLEST_NUMBER))
        shown = text if len(text) * size <= most else f"{text[: int(most / size) - 1]}…"
        self._text(left, middle, shown, size, **style)

    def _text(self, left: float, middle: float, text: str, size: float, **style: Any) -> None:
        width, height = self._size
        style = {"color": _INK, "va": "center", **style}
        at = left / width, 1 - middle / height
        self._figure.text(*at, text, fontsize=size, parse_math=False, **style)


# Sizes and words -----------------------------------------------------------------------------


def _columns(count: int, width: float, height: float) -> int:
    """A number of columns for a sheet about as wide as a screen, with few empty places."""

    def badness(columns: int) -> float:
        rows = ceil(count / columns)
        aspect = columns * width / (rows * height + _HEAD + _BAR_ROW)
        return abs(float(np.log(aspect / _SHEET_ASPECT))) + (columns * rows - count) / count

    return min(range(1, min(count, _MOST_COLUMNS) + 1), key=badness)


def _shape(size: tuple[int, int]) -> tuple[float, float]:
    """Width and height, in boxes, of a picture of that size. A very long one is stretched."""
    aspect = size[0] / size[1]
    if aspect * _TALLEST < 1:
        return max(aspect * _TALLEST, 1 / LONGEST), _TALLEST
    return 1.0, 1 / min(aspect, LONGEST)


def _height(one: ShownPanel) -> float:
    """The size of a panel's picture, with the letters of its channels."""
    shown, panel = len(one.channels), one.panel
    letters = _LETTER * ceil(shown / 2) if panel.texture.format.channels > 1 else 0.0
    aspect = ceil(shown / 2) / min(shown, 2) if shown else 1.0
    return _BOX * _shape(panel.size)[1] * aspect + letters


def _cell(box: _Box, number: int, columns: int, rows: int, letter: float) -> _Box:
    """The position of a channel in a panel: r and g above b and a, each below its letter."""
    row, column = divmod(number, columns)
    width = (box.width - (columns - 1) * _CHANNEL_GAP) / columns
    height = box.height / rows
    left, top = column * (width + _CHANNEL_GAP), row * height + letter
    return _Box(box.left + left, box.top + top, width, height - letter)


def _labels(panel: Panel) -> tuple[str, str]:
    """Two lines above a panel."""
    place = panel.place
    if place is None:
        return f"input {panel.what}", "" if panel.what == panel.texture.name else panel.texture.name
    iteration = f" · iteration {place.iteration} of {place.iterations}" if place.is_mixed else ""
    return f"pass {place.number} → {panel.texture.name}", f"{panel.what}{iteration}"


def _size(panel: Panel) -> str:
    columns, rows = panel.size
    return f"{columns}×{rows} {panel.texture.format.name}"


# In a picture --------------------------------------------------------------------------------


def _draw_numbers(
    axes: Axes, values: F32, colours: RGB, scale: ColourScale, cell: tuple[float, float]
) -> None:
    """Each value on the scale in its cell, with as many digits of the scale's largest one as fit.

    cell: its width and height, in points.
    """
    largest = max(abs(scale.low), abs(scale.high)) or 1.0
    for digits in (4, 3, 2, 1):
        rounded = np.round(values.astype(np.float64), digits - 1 - floor(log10(largest)))
        texts = [
            "" if value in scale.far else short_number(float(near) + 0.0)  # no -0
            for value, near in zip(values.flat, rounded.flat, strict=True)
        ]
        size = min(_LARGEST_NUMBER, 0.5 * cell[1], 1.4 * cell[0] / max(1, *map(len, texts)))
        if size >= _SMALLEST_NUMBER:
            break
    for (row, column), text in zip(np.ndindex(values.shape), texts, strict=True):
        colour = "white" if is_dark(colours[row, column]) else _INK
        at = column + 0.5, row + 0.5
        axes.text(*at, text, fontsize=size, color=colour, ha="center", va="center")


def _draw_mark(axes: Axes, rect: Rect, rows: int, columns: int) -> None:
    """A frame around the drawn part; the rest of the texture is pale."""
    from matplotlib.patches import Rectangle

    right, top = rect.x + rect.width, rect.y + rect.height
    around = (
        (0, 0, columns, rect.y),
        (0, top, columns, rows - top),
        (0, rect.y, rect.x, rect.height),
        (right, rect.y, columns - right, rect.height),
    )
    for x, y, width, height in around:
        axes.add_patch(Rectangle((x, y), width, height, facecolor="white", alpha=0.55, linewidth=0))
    corner, size = (rect.x, rect.y), (rect.width, rect.height)
    axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=_MARK, linewidth=0.9))
