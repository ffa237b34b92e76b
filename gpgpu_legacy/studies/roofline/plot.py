"""A roofline, drawn: a panel for each executor, its roof over the points, names beside these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    COLOURS,
    GREY,
    INK,
    SOFT,
    WIDTH,
    add_head,
    check_count,
    lines_of,
    new_figure,
    plain_number,
    save_figure,
    set_plain_numbers,
    style_axes,
)
from gpgpu_legacy.studies.roofline.panel import Roof, RooflinePoint, RoofPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

    from gpgpu_legacy.present.labels import Place, PlacedLabel

MOST_PANELS = 6
"""Panels of a picture."""

_MARKS = {"published": "s", "plausible": "D", "measured": "o"}
_SIGNS = {"published": "■", "plausible": "◆", "measured": "●"}
_PANEL_HEIGHT = 5.4  # inches
_SMALL, _TITLE = 9.0, 10.0  # points
_OUTSIDE = "#f0eee6"
_ROOF = "#4a4a4a"
# Factors beyond the roofs and the points; to the right of points, their names stand.
_HEADROOM, _FOOTROOM, _SIDEROOM, _NAME_ROOM = 2.0, 2.2, 1.7, 8.0
_SLOPE = 10.0  # how far left of its end a sloping roof begins, as a factor
_SAME = 0.04  # points that differ by less, as a share, have a label together
_NEAR = 1.5  # a factor of intensity within which points of one size have a label together


def draw_roofline(panels: Sequence[RoofPanel], size: int, path: Path) -> None:
    """Draw them: hollow marks are bounds, filled ones published or measured, a panel an executor.

    A bound and the time reached at the same size are joined. Raises InputError if no profile has
    rates to draw a roof from, or for more than MOST_PANELS.
    """
    drawn = ((panel, [p for p in panel.points if p.place[1]]) for panel in panels)
    shown = [(panel, points) for panel, points in drawn if points]
    if not shown:
        names = ", ".join(dict.fromkeys(panel.title for panel in panels))
        raise InputError(f"the profile of {names} has no rates, so there is nothing to draw")
    check_count(len(shown), MOST_PANELS, "panels")
    figure = new_figure(height_inches=_PANEL_HEIGHT * len(shown))
    grid = figure.subplots(len(shown), squeeze=False)
    for axes, (panel, points) in zip(grid[:, 0], shown, strict=True):
        _draw(axes, panel, points)
    figure.align_ylabels()
    kinds = dict.fromkeys(p.kind for _, points in shown for p in points if p.gflops is not None)
    reached = "".join(f"   {_SIGNS.get(kind, '●')} {kind}" for kind in kinds)
    add_head(
        figure,
        "Products under their roofs",
        f"○ bound of a method at n = {size}, of all that the prediction knows{reached}",
        "The roof is that of arithmetic and memory alone.",
    )
    save_figure(figure, path)


def _draw(axes: Axes, panel: RoofPanel, points: Sequence[RooflinePoint]) -> None:
    from matplotlib.ticker import FuncFormatter

    from gpgpu_legacy.present.labels import Obstacles, label_points

    style_axes(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    roofs = sorted(panel.roofs, key=lambda roof: roof.at(1.0))
    flats = [roof for roof in roofs if roof.gflops is not None]
    slopes = [roof for roof in reversed(roofs) if roof.gflops is None]
    _set_limits(axes, points, flats, slopes)
    ceiling = _draw_ceiling(axes, [*flats[-1:], *slopes[:1]])
    names = _draw_roofs(axes, flats, slopes)
    series = _series(points)
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(series)}
    joins = _draw_points(axes, points, series, colours)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    axes.xaxis.set_minor_formatter(FuncFormatter(_minor_label))
    set_plain_numbers(axes)
    axes.set_xlabel("arithmetic intensity: 2n³ operations per byte that memory serves")
    axes.set_ylabel("GFLOPS")
    title = "\n".join(lines_of(panel.name, WIDTH - 1.5, _TITLE))
    axes.set_title(title, loc="left", fontsize=_TITLE, color=INK)
    lines = [[(x, roof.at(x)) for x in axes.get_xlim()] for roof in panel.roofs]
    obstacles = Obstacles([point.place for point in points], [*joins, *lines], ceiling, names)
    label_points(axes, _labels(points, series, colours), obstacles)


def _minor_label(value: float, _: float) -> str:
    """Labels at 2 and 5 of every decade."""
    return plain_number(value) if f"{value:e}"[0] in "25" else ""


# Roofs -------------------------------------------------------------------------------------------


def _set_limits(
    axes: Axes, points: Sequence[RooflinePoint], flats: Sequence[Roof], slopes: Sequence[Roof]
) -> None:
    xs, ys = zip(*(point.place for point in points), strict=True)
    low, high = min(xs) / _SIDEROOM, max(xs) * _NAME_ROOM
    if flats and slopes:
        flat = flats[-1].at(1.0)
        low = min(low, flat / slopes[0].at(1.0) / _SLOPE)
        high = max(high, flat / slopes[-1].at(1.0) * _SIDEROOM)
    tops = [roof.at(high) for roof in (flats or slopes)]
    axes.set_xlim(low, high)
    axes.set_ylim(min(ys) / _FOOTROOM, max(*ys, *tops) * _HEADROOM)


def _draw_ceiling(axes: Axes, highest: Sequence[Roof]) -> list[Place]:
    """The most that any roof of each kind allows; what is above it is shaded."""
    if not highest:
        return []
    xs = np.geomspace(*axes.get_xlim(), 200)
    ys = [min(roof.at(x) for roof in highest) for x in xs]
    top = axes.get_ylim()[1]
    axes.fill_between(xs, ys, [max(top, y) for y in ys], color=_OUTSIDE, linewidth=0, zorder=0)
    return [(float(x), y) for x, y in zip(xs, ys, strict=True)]


def _draw_roofs(axes: Axes, flats: Sequence[Roof], slopes: Sequence[Roof]) -> list[Annotation]:
    """Draw the roofs, flat and sloping ones up to where they meet; the names of the flat ones."""
    from gpgpu_legacy.present.labels import label_slope

    low, high = axes.get_xlim()
    names = []
    for roof in flats:
        height = roof.at(1.0)
        start = max([low, *(height / slope.at(1.0) for slope in slopes[:1])])
        axes.plot([start, high], [height, height], color=_ROOF, linewidth=1.5)
        names.append(
            axes.annotate(
                f"{roof.name}, {plain_number(height)} GFLOPS",
                (high, height),
                (-4, 6),
                textcoords="offset points",
                fontsize=_SMALL,
                color=_ROOF,
                horizontalalignment="right",
                verticalalignment="bottom",
            )
        )
    for roof in slopes:
        end = max(low, min([high, *(flat.at(1.0) / roof.at(1.0) for flat in flats[-1:])]))
        axes.plot([low, end], [roof.at(low), roof.at(end)], color=_ROOF, linewidth=1.5)
    if slopes:
        start = 1.08 * max(low, axes.get_ylim()[0] / slopes[0].at(1.0))
        text = "\n".join(f"{r.name}, {plain_number(r.at(1.0))} GB/s" for r in slopes)
        line = [(x, slopes[0].at(x)) for x in (start, 2 * start)]
        label_slope(axes, text, line, _ROOF)
    return names


# Points ------------------------------------------------------------------------------------------


def _series(points: Sequence[RooflinePoint]) -> dict[str, list[RooflinePoint]]:
    """The points reached by each method, the smallest intensity first."""
    reached = [point for point in points if point.gflops is not None]
    reached.sort(key=lambda point: (point.flops_per_byte, point.size))
    plans = dict.fromkeys(point.plan for point in reached)
    return {plan: [point for point in reached if point.plan == plan] for plan in plans}


def _draw_points(
    axes: Axes,
    points: Sequence[RooflinePoint],
    series: Mapping[str, Sequence[RooflinePoint]],
    colours: Mapping[str, str],
) -> list[list[Place]]:
    """Draw marks, and lines from each bound to the points reached there; returns these lines."""
    joins: list[list[Place]] = []
    for name, reached in series.items():
        line = [point.place for point in reached]
        axes.plot(*zip(*line, strict=True), color=colours[name], linewidth=0.8, alpha=0.6)
        joins.append(line)
    for point in points:
        colour = colours.get(point.plan, GREY)
        if point.gflops is not None:
            mark = _MARKS.get(point.kind, "o")
            axes.plot(*point.place, mark, markersize=5.5, color=colour)
            continue
        axes.plot(
            *point.place, "o", markersize=8.5,
            markerfacecolor="none", markeredgecolor=colour, markeredgewidth=1.3,
        )  # fmt: skip
        for other in _reached_there(point, points):
            join = [point.place, other.place]
            axes.plot(*zip(*join, strict=True), ":", color=colour, linewidth=1.1)
            joins.append(join)
    return joins


def _reached_there(
    bound: RooflinePoint, points: Sequence[RooflinePoint]
) -> Iterator[RooflinePoint]:
    for point in points:
        if point.gflops and (point.plan, point.size) == (bound.plan, bound.size):
            yield point


def _labels(
    points: Sequence[RooflinePoint],
    series: Mapping[str, Sequence[RooflinePoint]],
    colours: Mapping[str, str],
) -> list[PlacedLabel]:
    """Of methods that were run, the names at the last point and the sizes; then other methods.

    The sizes are at the lowest of the points that are next to each other. Those at the ends of the
    methods stand beside the names.
    """
    from gpgpu_legacy.present.labels import PlacedLabel

    ends = sorted((reached[-1] for reached in series.values()), key=lambda end: end.place[1])
    labels = [
        PlacedLabel(*last.place, f"{last.plan}, {_size(last, points)}", colours[last.plan])
        for last in ends
    ]
    groups: list[tuple[str, list[RooflinePoint]]] = []
    for point in (point for reached in series.values() for point in reached[:-1]):
        text = _size(point, points)
        for name, group in groups:
            near = group[0].flops_per_byte / point.flops_per_byte
            if name == text and 1 / _NEAR < near < _NEAR:
                group.append(point)
                break
        else:
            groups.append((text, [point]))
    for text, group in groups:
        labels.append(PlacedLabel(*min(group, key=lambda point: point.place[1]).place, text))
    alone = [p for p in points if p.gflops is None and not any(_reached_there(p, points))]
    while alone:
        first = alone[0]
        here = [point for point in alone if np.allclose(point.place, first.place, _SAME, 0)]
        alone = [point for point in alone if point not in here]
        text = "\n".join(point.plan for point in here)
        labels.append(PlacedLabel(*first.place, text, colours.get(first.plan, SOFT)))
    return labels


def _size(point: RooflinePoint, points: Sequence[RooflinePoint]) -> str:
    """The size of a reached point, and its block if several were tried."""
    tried = {other.block for other in _reached_there(point, points)}
    return f"n = {point.size}" + (f", b = {point.block}" if len(tried) > 1 else "")
