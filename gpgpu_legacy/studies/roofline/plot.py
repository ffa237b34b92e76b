"""A roofline, drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    COLOURS,
    LINES,
    add_legend,
    new_figure,
    save_figure,
    style_axes,
)
from gpgpu_legacy.studies.roofline.model import Roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MARKS = {"published": "s", "plausible": "D", "measured": "o"}


def draw_roofline(roofline: Roofline, chip: Profile, path: Path) -> None:
    """Draw it as a PNG: hollow marks are bounds, filled ones published or measured.

    Raises InputError if the chip's profile has no rates to draw a roof from.
    """
    if not any(point.bound_gflops or point.gflops for point in roofline.points):
        raise InputError(f"the profile of {chip.called} has no rates, so there is nothing to draw")
    figure = new_figure(9.5, 5.6)
    _draw(figure.subplots(), roofline, chip)
    save_figure(figure, path)


def _draw(axes: Axes, roofline: Roofline, chip: Profile) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_points(axes, roofline)
    _draw_roofs(axes, roofline)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(FuncFormatter(_minor_label))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("arithmetic intensity: 2n³ operations per byte requested by instructions")
    axes.set_ylabel("GFLOPS")
    axes.set_title(f"{chip.title}, n = {roofline.size}", loc="left", fontsize=10)
    style_axes(axes)
    add_legend(axes, fontsize=7.5)


def _minor_label(value: float, _: float) -> str:
    """Labels at 2 and 5 of every decade."""
    return f"{value:g}" if f"{value:e}"[0] in "25" else ""


def _draw_points(axes: Axes, roofline: Roofline) -> None:
    names = list(dict.fromkeys(point.method for point in roofline.points))
    for point in roofline.points:
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


def _draw_roofs(axes: Axes, roofline: Roofline) -> None:
    low, high = axes.get_xlim()
    peak = max((roof.gflops for roof in roofline.roofs if roof.gflops), default=None)
    for number, roof in enumerate(roofline.roofs):
        line = LINES[number % len(LINES)]
        if roof.gflops is not None:
            xs, ys = [low, high], [roof.gflops, roof.gflops]
        else:
            assert roof.gb_per_s is not None
            end = high if peak is None else min(high, peak / roof.gb_per_s)
            xs, ys = [low, max(end, low)], [low * roof.gb_per_s, max(end, low) * roof.gb_per_s]
        axes.plot(xs, ys, linestyle=line, color="#666666", linewidth=1.4, label=roof.name)
    axes.set_xlim(low, high)
