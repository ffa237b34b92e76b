"""A roofline, drawn: a panel for each executor, its roof over the points, names beside these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isclose
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

    from gpgpu_legacy.present.labels import Label, Place
    from gpgpu_legacy.studies.roofline.result import Panel, Point, Roof, Roofline

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


def draw_roofline(roofline: Roofline, path: Path) -> None:
    """Draw it: hollow marks are bounds, filled ones published or measured, a panel an executor.

    A bound and what was reached at the same size are joined. Raises InputError if no profile has
    rates to draw a roof from, or for more than MOST_PANELS.
    """
    panels = [panel for panel in roofline.panels if _known(panel)]
    if not panels:
        names = ", ".join(dict.fromkeys(panel.title for panel in roofline.panels))
        raise InputError(f"the profile of {names} has no rates, so there is nothing to draw")
    check_count(len(panels), MOST_PANELS, "panels")
    figure = new_figure(height_inches=_PANEL_HEIGHT * len(panels))
    grid = figure.subplots(len(panels), squeeze=False)
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        _draw(axes, panel)
    figure.align_ylabels()
    kinds = dict.fromkeys(p.kind for panel in panels for p in panel.points if p.gflops is not None)
    reached = "".join(f"   {_SIGNS.get(kind, '●')} {kind}" for kind in kinds)
    add_head(
        figure,
        "Products under their roofs",
        f"○ bound of a method at n = {roofline.size}, of all that the prediction knows{reached}",
        "The roof is that of arithmetic and memory alone.",
    )
    save_figure(figure, path)


def _known(panel: Panel) -> list[Point]:
    """The points that have a height."""
    return [point for point in panel.points if point.place[1]]


def _draw(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter

    from gpgpu_legacy.present.labels import Obstacles, label_points

    points = _known(panel)
    style_axes(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _set_limits(axes, points, panel.roofs)
    ceiling = _draw_ceiling(axes, panel.roofs)
    names = _draw_roofs(axes, panel.roofs)
    joins = _draw_points(axes, points)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    axes.xaxis.set_minor_formatter(FuncFormatter(_minor_label))
    set_plain_numbers(axes)
    axes.set_xlabel("arithmetic intensity: 2n³ operations per byte that memory serves")
    axes.set_ylabel("GFLOPS")
    title = "\n".join(lines_of(panel.name, WIDTH - 1.5, _TITLE))
    axes.set_title(title, loc="left", fontsize=_TITLE, color=INK)
    low, high = axes.get_xlim()
    roofs = [[(x, _rate(roof, x)) for x in (low, high)] for roof in panel.roofs]
    obstacles = Obstacles([point.place for point in points], [*joins, *roofs], ceiling, names)
    label_points(axes, _labels(points), obstacles, _SMALL)


def _minor_label(value: float, _: float) -> str:
    """Labels at 2 and 5 of every decade."""
    return plain_number(value) if f"{value:e}"[0] in "25" else ""


# Roofs -------------------------------------------------------------------------------------------


def _rate(roof: Roof, intensity: float) -> float:
    """The GFLOPS that a roof allows at an intensity."""
    return roof.gflops if roof.gflops is not None else (roof.gb_per_s or 0.0) * intensity


def _set_limits(axes: Axes, points: Sequence[Point], roofs: Sequence[Roof]) -> None:
    flat = max((roof.gflops for roof in roofs if roof.gflops), default=None)
    slopes = [roof.gb_per_s for roof in roofs if roof.gb_per_s]
    xs, ys = zip(*(point.place for point in points), strict=True)
    low, high = min(xs) / _SIDEROOM, max(xs) * _NAME_ROOM
    if flat and slopes:
        low = min(low, flat / max(slopes) / _SLOPE)
        high = max(high, flat / min(slopes) * _SIDEROOM)
    tops = [_rate(roof, high) for roof in roofs]
    axes.set_xlim(low, high)
    axes.set_ylim(min(ys) / _FOOTROOM, max(*ys, flat or max(tops, default=0.0)) * _HEADROOM)


def _draw_ceiling(axes: Axes, roofs: Sequence[Roof]) -> list[Place]:
    """The most that any roof of each kind allows; what is above it is shaded."""
    flats = [roof for roof in roofs if roof.gflops is not None]
    slopes = [roof for roof in roofs if roof.gb_per_s is not None]
    if not flats and not slopes:
        return []
    low, high = axes.get_xlim()
    xs = np.geomspace(low, high, 200)
    ys = [min(max(_rate(roof, x) for roof in kind) for kind in (flats, slopes) if kind) for x in xs]
    top = axes.get_ylim()[1]
    axes.fill_between(xs, ys, [max(top, y) for y in ys], color=_OUTSIDE, linewidth=0, zorder=0)
    return [(float(x), y) for x, y in zip(xs, ys, strict=True)]


def _draw_roofs(axes: Axes, roofs: Sequence[Roof]) -> list[Annotation]:
    """Draw the roofs, flat and sloping ones up to where they meet; the names of the flat ones."""
    from gpgpu_legacy.present.labels import label_slope

    low, high = axes.get_xlim()
    bottom = axes.get_ylim()[0]
    flats = sorted((r for r in roofs if r.gflops is not None), key=lambda r: _rate(r, 1.0))
    slopes = sorted((r for r in roofs if r.gb_per_s is not None), key=lambda r: -_rate(r, 1.0))
    peak = _rate(flats[-1], 1.0) if flats else None
    names = []
    for roof in flats:
        height = _rate(roof, 1.0)
        starts = [height / _rate(slope, 1.0) for slope in slopes[:1]]
        axes.plot([max([low, *starts]), high], [height, height], color=_ROOF, linewidth=1.5)
        name = f"{roof.name}, {plain_number(height)} GFLOPS"
        names.append(
            axes.annotate(
                name,
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
        end = high if peak is None else min(high, peak / _rate(roof, 1.0))
        axes.plot([low, max(end, low)], [_rate(roof, x) for x in (low, max(end, low))],
                  color=_ROOF, linewidth=1.5)  # fmt: skip
    if slopes:
        start = 1.08 * max(low, bottom / _rate(slopes[0], 1.0))
        text = "\n".join(f"{r.name}, {plain_number(_rate(r, 1.0))} GB/s" for r in slopes)
        line = [(x, _rate(slopes[0], x)) for x in (start, 2 * start)]
        label_slope(axes, text, line, _ROOF, _SMALL)
    return names


# Points ------------------------------------------------------------------------------------------


def _series(points: Sequence[Point]) -> dict[str, list[Point]]:
    """What was reached by each method, the smallest intensity first."""
    series: dict[str, list[Point]] = {}
    for point in sorted(points, key=lambda point: (point.flops_per_byte, point.size)):
        if point.gflops is not None:
            series.setdefault(point.plan, []).append(point)
    return series


def _colours(points: Sequence[Point]) -> dict[str, str]:
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(_series(points))}


def _draw_points(axes: Axes, points: Sequence[Point]) -> list[list[Place]]:
    """Draw marks, and lines from each bound to what was reached there; these lines."""
    series, colours, joins = _series(points), _colours(points), list[list[tuple[float, float]]]()
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


def _reached_there(bound: Point, points: Sequence[Point]) -> Iterator[Point]:
    for point in points:
        if point.gflops and (point.plan, point.size) == (bound.plan, bound.size):
            yield point


def _labels(points: Sequence[Point]) -> list[Label]:
    """Of methods that were run, the names at the last point and the sizes; then other methods."""
    from gpgpu_legacy.present.labels import Label

    colours, labels = _colours(points), list[Label]()
    ends = {name: reached[-1] for name, reached in _series(points).items()}
    for name, last in sorted(ends.items(), key=lambda end: end[1].place[1]):
        text = f"{name}, {_size(last, points)}"
        labels.append(Label(*last.place, text, colours[name]))
    labels += _sizes(points)
    alone = [p for p in points if p.gflops is None and not any(_reached_there(p, points))]
    while alone:
        first = alone[0]
        here = [point for point in alone if _is_same(first, point)]
        alone = [point for point in alone if point not in here]
        text = "\n".join(point.plan for point in here)
        colour = colours.get(first.plan, SOFT)
        labels.append(Label(*first.place, text, colour))
    return labels


def _is_same(one: Point, other: Point) -> bool:
    places = zip(one.place, other.place, strict=True)
    return all(isclose(ours, theirs, rel_tol=_SAME) for ours, theirs in places)


def _size(point: Point, points: Sequence[Point]) -> str:
    """The size of a point that was reached, and the block where several were tried."""
    tried = {other.block for other in _reached_there(point, points)}
    return f"n = {point.size}" + (f", b = {point.block}" if len(tried) > 1 else "")


def _sizes(points: Sequence[Point]) -> Iterator[Label]:
    """The sizes of what was reached, at the lowest of the points that are next to each other.

    Those at the ends of the methods stand beside the names.
    """
    from gpgpu_legacy.present.labels import Label

    groups: list[tuple[str, list[Point]]] = []
    for point in (point for reached in _series(points).values() for point in reached[:-1]):
        text = _size(point, points)
        for name, group in groups:
            near = group[0].flops_per_byte / point.flops_per_byte
            if name == text and 1 / _NEAR < near < _NEAR:
                group.append(point)
                break
        else:
            groups.append((text, [point]))
    for text, group in groups:
        lowest = min(group, key=lambda point: point.place[1])
        yield Label(*lowest.place, text)
