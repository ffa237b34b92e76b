"""Errors over the length of the sum, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import MARKS, new_figure, save_figure, style_axes
from gpgpu_legacy.studies.precision.model import Accuracy, Data
from gpgpu_legacy.studies.precision.table import panel_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_PANEL_INCHES = (4.2, 3.7)

_COLOURS = ("#202124", "#1a56a8", "#2e7d32", "#b3261e", "#8a5a00")

_COLUMNS = 3


def draw_precision(measured: Sequence[Accuracy], path: Path) -> None:
    """Error against n on logarithmic axes: a panel a method and texture format, a line a format.

    The bounds are dashed. Products that saturate or read wrong texels are left out; if a format was
    measured with both kinds of data, the scaled one is drawn.
    Raises InputError if nothing is left to draw or the file cannot be written.
    """
    shown = _shown(measured)
    panels = {key: list(rows) for key, rows in groupby(shown, panel_of)}
    if not panels:
        raise InputError("no error has a bound, so there is nothing to plot; see the table")
    columns = min(_COLUMNS, len(panels))
    lines = -(-len(panels) // columns)
    width, height = columns * _PANEL_INCHES[0], lines * _PANEL_INCHES[1] + 0.9
    figure = new_figure(width, height)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    places = [axes for line in grid for axes in line]
    names = list(dict.fromkeys(row.arithmetic for row in shown))
    for axes, ((method, texture_format), rows) in zip(places, panels.items(), strict=False):
        _draw_panel(axes, rows, names)
        axes.set_title(f"{method}, {texture_format}", loc="left", fontsize=10)
        lost = _lost([row for row in measured if panel_of(row) == (method, texture_format)])
        if lost:
            text = f"wrong texels: {lost}"
            axes.text(0.03, 0.97, text, va="top", fontsize=9, transform=axes.transAxes)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    figure.supxlabel("size n of the n×n matrices; fixed-point data scaled to fit", fontsize=10)
    figure.supylabel("largest error, of the largest element", fontsize=10)
    handles, labels = _legend(names)
    figure.legend(
        handles=handles, labels=labels, loc="outside upper left", ncols=len(labels), frameon=False
    )
    save_figure(figure, path)


def _lost(rows: Sequence[Accuracy]) -> str:
    """The arithmetics in which a method reads the wrong texels at every size."""
    right = {row.arithmetic for row in rows if row.addresses}
    names = dict.fromkeys(row.arithmetic for row in rows)
    return ", ".join(name for name in names if name not in right)


def _shown(measured: Sequence[Accuracy]) -> list[Accuracy]:
    bounded = [row for row in measured if row.bound is not None]
    scaled = {(panel_of(row), row.arithmetic) for row in bounded if row.data is Data.SCALED}
    return [
        row
        for row in bounded
        if row.data is Data.SCALED or (panel_of(row), row.arithmetic) not in scaled
    ]


def _draw_panel(axes: Axes, rows: Sequence[Accuracy], names: Sequence[str]) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    for name in dict.fromkeys(row.arithmetic for row in rows):
        style = names.index(name)
        line = sorted((row for row in rows if row.arithmetic == name), key=lambda row: row.size)
        sizes = [row.size for row in line]
        colour, mark = _COLOURS[style % len(_COLOURS)], MARKS[style % len(MARKS)]
        axes.plot(sizes, [row.bound or nan for row in line], "--", color=colour, linewidth=1.0)
        axes.plot(
            sizes,
            [row.max_error for row in line],
            marker=mark,
            color=colour,
            linewidth=1.6,
            markersize=4.5,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sorted({row.size for row in rows}))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    style_axes(axes)


def _legend(names: Sequence[str]) -> tuple[list[Artist], list[str]]:
    """Handles and labels: a line for each arithmetic, then what solid and dashed lines mean."""
    from matplotlib.lines import Line2D

    handles: list[Artist] = [
        Line2D([], [], color=_COLOURS[i % len(_COLOURS)], marker=MARKS[i % len(MARKS)])
        for i in range(len(names))
    ]
    handles += [Line2D([], [], color="#777777"), Line2D([], [], color="#777777", linestyle="--")]
    return handles, [*names, "measured", "bound"]
