"""A benchmark, drawn: a line for each who was measured, over the cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    COLOURS,
    MARKS,
    add_head,
    check_count,
    height_for_labels,
    label_lines,
    new_figure,
    plain_number,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 100
"""Lines of a plot, each of which has its name beside it."""

_MS = 1e3
_DECADE = 10  # of values: fewer stand on an axis from 0


class BenchSeries(NamedTuple):
    """The properties that a line's points share. family: has a colour."""

    is_own: bool
    family: str
    executor: str
    label: str


class BenchPoint(NamedTuple):
    """A time at a place on the x axis, the fastest and the slowest, and the GFLOPS, if known."""

    place: int
    seconds: float
    spread: tuple[float, float]
    gflops: float | None


def draw_bench(
    lines: Mapping[BenchSeries, Sequence[BenchPoint]],
    axis: str | Sequence[str],
    time: tuple[str, str],
    head: Sequence[str],
    path: Path | str,
) -> None:
    """Draw GFLOPS of a benchmark, or times if a plan has none: PNG, SVG or PDF.

    axis: what the places are values of, on a logarithmic axis, or their labels in order. time: what
    is timed, in the singular and in the plural. Each line has its name at its end; its colour shows
    its family, its marks the executor. A bar is from the fastest to the slowest run. Peers and
    reference functions are dashed. Raises InputError if there is nothing to draw, or the figure
    cannot be written.
    """
    points = [point for line in lines.values() for point in line]
    if not points:
        raise InputError("nothing was measured, so there is nothing to plot; see the table")
    check_count(len(lines), MOST_LINES, "lines")
    has_rates = all(point.gflops for point in points)
    figure = new_figure(height_inches=height_for_labels(len(lines)))
    axes = figure.subplots()
    style_axes(axes)
    _draw(axes, lines, has_rates=has_rates)
    low, high = axes.dataLim.intervaly
    if high > _DECADE * low:
        axes.set_yscale("log")
        set_plain_numbers(axes)
    else:
        axes.set_ylim(0, 1.05 * high)
        axes.yaxis.set_major_formatter(lambda value, _: plain_number(value))
    if isinstance(axis, str):
        set_powers_of_two(axes, sorted({point.place for point in points}))
        axes.set_xlabel(axis)
    else:
        axes.set_xticks(range(len(axis)), axis)
    axes.set_ylabel(f"GFLOPS over the {time[0]}" if has_rates else f"ms, {time[1]}")
    said = [] if has_rates else ["Medians; a bar is from the fastest run to the slowest one."]
    add_head(figure, *head, *said)
    save_figure(figure, path)


def _draw(
    axes: Axes, lines: Mapping[BenchSeries, Sequence[BenchPoint]], *, has_rates: bool
) -> None:
    families = list(dict.fromkeys(line.family for line in lines))
    executors = list(dict.fromkeys(line.executor for line in lines))
    for line in sorted(lines, key=lambda line: not line.is_own) if has_rates else lines:
        points = sorted(lines[line], key=lambda point: point.place)
        xs = [point.place for point in points]
        ys = [(point.gflops or 0.0) if has_rates else _MS * point.seconds for point in points]
        below = [_MS * (point.seconds - point.spread[0]) for point in points]
        above = [_MS * (point.spread[1] - point.seconds) for point in points]
        colour = COLOURS[families.index(line.family) % len(COLOURS)]
        drawn = axes.errorbar(
            xs,
            ys,
            yerr=None if has_rates else [below, above],
            marker=MARKS[executors.index(line.executor) % len(MARKS)],
            linestyle="-" if line.is_own else "--",
            color=colour,
            linewidth=1.8 if line.is_own else 1.3,
            elinewidth=0.8,
            capsize=2.0,
            markersize=5.0,
            markerfacecolor=None if line.is_own or not has_rates else "white",
            label=line.label,
        )
        drawn.lines[0].set_label(line.label)
    label_lines(axes)
