"""A roofline, drawn: a panel for each executor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    COLOURS,
    LINES,
    add_legend,
    check_count,
    new_figure,
    save_figure,
    style_axes,
)
from gpgpu_legacy.studies.roofline.model import Panel, Point, Roofline
from gpgpu_legacy.studies.roofline.table import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 6
"""Panels of a picture, each with a legend of its own."""

_MARKS = {"published": "s", "plausible": "D", "measured": "o"}


def draw_roofline(roofline: Roofline, path: Path) -> None:
    """Draw it: hollow marks are bounds, filled ones published or measured, a panel an executor.

    Raises InputError if no profile has rates to draw a roof from, or for more than MOST_PANELS.
    """
    panels = [panel for panel in roofline.panels if any(map(_height, panel.points))]
    if not panels:
        names = ", ".join(dict.fromkeys(panel.title for panel in roofline.panels))
        raise InputError(f"the profile of {names} has no rates, so there is nothing to draw")
    check_count(len(panels), MOST_PANELS, "panels")
    figure = new_figure(9.5, 5.6 * len(panels))
    grid = figure.subplots(len(panels), squeeze=False)
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        _draw(axes, panel, roofline.size)
    save_figure(figure, path)


def _height(point: Point) -> float | None:
    return point.gflops if point.gflops is not None else point.bound_gflops


def _draw(axes: Axes, panel: Panel, size: int) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_points(axes, panel)
    _draw_roofs(axes, panel)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(FuncFormatter(_minor_label))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("arithmetic intensity: 2n³ operations per byte that memory serves")
    axes.set_ylabel("GFLOPS")
    axes.set_title(f"{title_of(panel)}, n = {size}", loc="left", fontsize=10)
    style_axes(axes)
    add_legend(axes, fontsize=7.5)


def _minor_label(value: float, _: float) -> str:
    """Labels at 2 and 5 of every decade."""
    return f"{value:g}" if f"{value:e}"[0] in "25" else ""


def _draw_points(axes: Axes, panel: Panel) -> None:
    names = list(dict.fromkeys(point.method for point in panel.points))
    for point in panel.points:
        x, colour = point.flops_per_byte, COLOURS[names.index(point.method) % len(COLOURS)]
        if point.gflops is None and point.bound_gflops:
            axes.plot(
                x, point.bound_gflops, "o", markersize=10, markerfacecolor="none",
                markeredgecolor=colour, label=f"{point.method}, bound",
            )  # fmt: skip
        elif point.gflops is not None:
            label = f"{point.method}, {point.kind}, n = {point.size}"
            mark = _MARKS.get(point.kind, "o")
            axes.plot(x, point.gflops, mark, markersize=5, color=colour, label=label)
            if point.above:
                axes.annotate("above its roof", (x, point.gflops), color="#b3261e")


def _draw_roofs(axes: Axes, panel: Panel) -> None:
    low, high = axes.get_xlim()
    peak = max((roof.gflops for roof in panel.roofs if roof.gflops), default=None)
    for number, roof in enumerate(panel.roofs):
        line = LINES[number % len(LINES)]
        if roof.gflops is not None:
            xs, ys = [low, high], [roof.gflops, roof.gflops]
        else:
            assert roof.gb_per_s is not None
            end = high if peak is None else min(high, peak / roof.gb_per_s)
            xs, ys = [low, max(end, low)], [low * roof.gb_per_s, max(end, low) * roof.gb_per_s]
        axes.plot(xs, ys, linestyle=line, color="#666666", linewidth=1.4, label=roof.name)
    axes.set_xlim(low, high)
