"""Errors over the length of the sum, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    COLOURS,
    MARKS,
    add_head,
    new_figure,
    save_figure,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.studies.precision.model import by_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpgpu_legacy.studies.precision.model import Accuracy, Precision

_PANEL_HEIGHT, _FRAME = 3.2, 0.4  # inches
_SMALL = 9.0  # points
_COLUMNS = 2


def draw_precision(precision: Precision, path: Path) -> None:
    """Error against n on logarithmic axes: a panel a method and texture format, a line a format.

    The bounds are dashed. Products that saturate or read wrong texels are left out; if a format was
    measured with both kinds of data, the scaled one is drawn.
    Raises InputError if nothing is left to draw or the file cannot be written.
    """
    shown = [row for row in precision.fitting() if row.bound is not None]
    measured, panels = by_format(precision.measurements), by_format(shown)
    if not panels:
        raise InputError("no error has a bound, so there is nothing to plot; see the table")
    columns = min(_COLUMNS, len(panels))
    lines = -(-len(panels) // columns)
    figure = new_figure(height_inches=lines * _PANEL_HEIGHT + _FRAME)
    places = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).flat
    names = list(dict.fromkeys(row.arithmetic for row in shown))
    for axes, ((method, texture_format), rows) in zip(places, panels.items(), strict=False):
        _draw_panel(axes, rows, names)
        lost = _lost(measured[method, texture_format])
        title = f"{method}, {texture_format}" + (f"\nwrong texels: {lost}" if lost else "")
        axes.set_title(title, loc="left", fontsize=_SMALL)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    for axes in places[len(panels) - columns : len(panels)]:  # those with no panel below
        axes.tick_params(labelbottom=True)
    figure.supxlabel("size n of the n×n matrices; fixed-point data scaled to fit", fontsize=10)
    figure.supylabel("largest error, of the largest element", fontsize=10)
    add_head(
        figure,
        "What a number format costs in accuracy",
        "Solid: measured, on the NumPy machine. Dashed: the bound that was computed before.",
    )
    save_figure(figure, path)


def _lost(rows: Sequence[Accuracy]) -> str:
    """The arithmetics in which a method reads the wrong texels at every size."""
    right = {row.arithmetic for row in rows if row.addresses}
    names = dict.fromkeys(row.arithmetic for row in rows)
    return ", ".join(name for name in names if name not in right)


def _draw_panel(axes: Axes, rows: Sequence[Accuracy], names: Sequence[str]) -> None:
    from gpgpu_legacy.present.labels import label_lines

    style_axes(axes)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for name in dict.fromkeys(row.arithmetic for row in rows):
        style = names.index(name)
        line = sorted((row for row in rows if row.arithmetic == name), key=lambda row: row.size)
        sizes = [row.size for row in line]
        colour, mark = COLOURS[style % len(COLOURS)], MARKS[style % len(MARKS)]
        axes.plot(sizes, [row.bound or nan for row in line], "--", color=colour, linewidth=1.0)
        axes.plot(
            sizes,
            [row.max_error for row in line],
            marker=mark,
            color=colour,
            linewidth=1.6,
            markersize=4.5,
            label=name,
        )
    set_powers_of_two(axes, sorted({row.size for row in rows}))
    axes.tick_params(labelsize=_SMALL)
    label_lines(axes, _SMALL)
