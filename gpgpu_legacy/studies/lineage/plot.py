"""Lineages as a chart: devices and sizes side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.bench import Timed
from gpgpu_legacy.present.plot import (
    COLOURS,
    INK,
    WIDTH,
    add_head,
    check_count,
    lines_of,
    new_figure,
    plain_number,
    save_figure,
    style_axes,
)
from gpgpu_legacy.studies.lineage.model import Lineage, method_of, rate_of, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

MOST_PANELS = 3
"""Lineages side by side; of more, the numbers would be too small to read."""

_ROW, _FRAME = 0.34, 1.0  # inches of a method, and of all that is not one
_SMALL = 9.0  # points
_LIBRARY_MARK = "D"
_ROOM = 2.0  # beyond the slowest and the fastest, as a factor
_NAMES = 2.0  # inches
_RATE_POINTS, _TIMES_POINTS = 42, 90  # where two columns of numbers end, right of the axes
_TICKS = 6  # at most, of all panels


def draw_lineages(lineages: Sequence[Lineage], path: Path) -> None:
    """Draw GFLOPS by method, a panel a lineage, on one logarithmic axis: PNG, SVG or PDF.

    The origin of bars, 1×, is the oldest method that each lineage has times of. Rates and multiples
    stand beside the bars, and the libraries of the same measurement below the methods.

    Raises InputError where nothing was measured, for more than MOST_PANELS, or where the file
    cannot be written.
    """
    shown = [[step for step in lineage.steps if step.gflops] for lineage in lineages]
    if not all(shown):
        raise InputError("no method has GFLOPS, so there is nothing to draw; see the table")
    check_count(len(lineages), MOST_PANELS, "lineages")
    methods = {method_of(step) for steps in shown for step in steps}
    names = {m.name: f"{m.name}  {m.year}" for m in products() if m in methods}
    libraries = [library for lineage in lineages for library in lineage.libraries]
    rows = [*names, *dict.fromkeys(map(title_of, libraries))]
    executors = dict.fromkeys(step.executor for steps in shown for step in steps)
    colours = dict(zip(executors, COLOURS[1:], strict=False))
    figure = new_figure(height_inches=_ROW * len(rows) + _FRAME)
    panels = figure.subplots(1, len(lineages), sharex=True, sharey=True, squeeze=False)[0]
    width = (WIDTH - _NAMES) / len(lineages) - 0.2
    for axes, lineage, steps in zip(panels, lineages, shown, strict=True):
        axes.yaxis.update_units(rows)
        _draw(axes, lineage, steps, colours)
        devices = "; ".join(dict.fromkeys(str(step.device) for step in steps))
        title = lines_of(f"n = {lineage.size} on {devices}", width, _SMALL)
        axes.set_title("\n".join(title), loc="left", fontsize=_SMALL, color=INK)
    panels[0].set_yticks(range(len(rows)), [names.get(row, row) for row in rows], color=INK)
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    _set_scale(panels[0], lineages, shown)
    figure.supxlabel("GFLOPS (2n³ over the compute time), logarithmic", fontsize=10, color=INK)
    origins = dict.fromkeys(str(steps[0].plan) for steps in shown)
    add_head(
        figure,
        "Matrix products by every method, in the order of history",
        f"GFLOPS, and how many times those of {' or '.join(origins)} on the same device: the line "
        "at 1×, from which the bars begin.",
        key=_key(colours),
    )
    save_figure(figure, path)


def _key(colours: dict[str, str]) -> list[Line2D]:
    """What colours and marks mean."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, marker="o", linewidth=5, markersize=7, label=executor)
        for executor, colour in colours.items()
    ]
    library = Line2D([], [], color=INK, marker=_LIBRARY_MARK, linestyle="", label="a library")
    return [*handles, library]


def _draw(axes: Axes, lineage: Lineage, steps: Sequence[Timed], colours: dict[str, str]) -> None:
    """The origin as a line, a bar from it for each method, and a mark for each library."""
    style_axes(axes)
    axes.set_xscale("log")
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    origin = steps[0].gflops or 0.0
    axes.axvline(origin, color=INK, linewidth=0.9)
    for step in steps:
        rate, colour, name = step.gflops or 0.0, colours[step.executor], str(step.plan)
        axes.plot([origin, rate], [name] * 2, color=colour, linewidth=5, solid_capstyle="butt")
        axes.plot(rate, name, "o", color=colour, markersize=7, clip_on=False)
        _write(axes, name, rate, origin)
    for library in lineage.libraries:
        rate, name = rate_of(library), title_of(library)
        axes.plot(rate, name, _LIBRARY_MARK, color=INK, markersize=6, clip_on=False)
        _write(axes, name, rate, origin)


def _write(axes: Axes, row: str, rate: float, origin: float) -> None:
    """A row's numbers, right of the axes, where no line passes."""
    ratio = rate / origin
    # A small part of the origin is a fraction, which is as short.
    multiple = f"{_digits(ratio)}×" if ratio >= 0.1 else f"1/{1 / ratio:,.0f}"
    for text, offset in ((_digits(rate), _RATE_POINTS), (multiple, _TIMES_POINTS)):
        axes.annotate(
            text, (1.0, row), (offset, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", fontsize=_SMALL, color=INK, annotation_clip=False,
            horizontalalignment="right", verticalalignment="center",
        )  # fmt: skip


def _set_scale(axes: Axes, lineages: Sequence[Lineage], shown: Sequence[Sequence[Timed]]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    rates = [step.gflops or 0.0 for steps in shown for step in steps]
    rates += [rate_of(library) for lineage in lineages for library in lineage.libraries]
    axes.set_xlim(min(rates) / _ROOM, max(rates) * _ROOM)
    axes.xaxis.set_major_locator(LogLocator(numticks=_TICKS // len(lineages)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    axes.xaxis.set_minor_locator(NullLocator())


def _digits(value: float) -> str:
    """Three digits, with no power of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
