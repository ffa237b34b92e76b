"""The plots of two papers redrawn: the published curves, and those measured here beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import Write, check_output_folder, write_folder
from gpgpu_legacy.papers.measured.model import (
    MS_PER_S,
    NOTHING_MEASURED,
    Measurements,
    published_ratio,
    published_seconds,
    rate,
)
from gpgpu_legacy.present.plot import (
    COLOURS,
    add_head,
    figure_of,
    new_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Rate
from gpgpu_legacy.published.tables import MeasuredTable, Row, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = tuple[list[int], list[float]]

_COLOURS = _RED, _BLACK, _BLUE, _GREEN = (COLOURS[2], COLOURS[0], COLOURS[1], COLOURS[3])
_SIZE = "size n of the n×n matrices"
_MARKS = ("s", "^", "D", "v")
_LINES = ("--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)))


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of a paper: its file's name without suffix, its title, and what draws it."""

    name: str
    title: str
    draw: Callable[[Axes], None]


def plots(paper: Paper, measurements: Measurements | None = None) -> tuple[Plot, ...]:
    """The plots of a paper; InputError where it has none."""
    if paper.id not in _PLOTS:
        raise InputError(f"{paper.id} has no plots; choose from {', '.join(sorted(_PLOTS))}")
    return tuple(_PLOTS[paper.id](paper, measurements or NOTHING_MEASURED))


def check_plots(paper: Paper, folder: Path) -> None:
    """InputError where the paper has no plots or the folder cannot be written to."""
    check_output_folder(folder, tuple(_file(plot) for plot in plots(paper)))


def write_plots(paper: Paper, folder: Path, measurements: Measurements | None = None) -> list[Path]:
    """Draw every plot of a paper as a .png in a folder, which is made if need be."""
    check_plots(paper, folder)
    files = {_file(plot): _drawn(plot) for plot in plots(paper, measurements)}
    write_folder(folder, files)
    return [folder / name for name in files]


def _file(plot: Plot) -> str:
    return f"{plot.name}.png"


def _drawn(plot: Plot) -> Write:
    from gpgpu_legacy.present.labels import label_lines

    figure = new_figure()
    axes = figure.subplots()
    style_axes(axes)
    plot.draw(axes)
    label_lines(axes)
    add_head(figure, plot.title)
    return figure_of(figure, ".png")


# Dobravec & Bulić ------------------------------------------------------------------------------


def _dobravec_bulic(paper: Paper, measurements: Measurements) -> Iterator[Plot]:
    table_1, table_2 = paper.measurements("table-1"), paper.measurements("table-2")

    def figure_1(axes: Axes) -> None:
        for number, series in enumerate(table_1.series):
            _draw_series(axes, table_1, series, measurements, _COLOURS[number])
        _label(axes, table_1, _SIZE, "time, ms")

    def figure_2(axes: Axes) -> None:
        _draw_series(axes, table_2, table_2.find("MulDS"), measurements, _BLUE)
        _draw_series(axes, table_2, table_2.find("MulH"), measurements, _RED)
        _label(axes, table_2, "threads in a block", "time, ms")

    yield Plot(f"{paper.id}-figure-1", f"{paper.short}, Figure 1", figure_1)
    yield Plot(f"{paper.id}-figure-2", f"{paper.short}, Figure 2, n = 512", figure_2)


# The OpenGL compute-shader multiply -------------------------------------------------------------


def _opengl_compute(paper: Paper, measurements: Measurements) -> Iterator[Plot]:
    [table] = paper.measured
    ratio = table.ratios[0]

    def gflops(axes: Axes) -> None:
        for label, colour in (("CPU", _RED), ("GPU", _BLUE)):
            series = table.find(label)
            _draw_series(axes, table, series, measurements, colour, of=_gflops, way=", 2n³/t")
        printed = [_value(table.find("CPU GFLOPS"), row) for row in table.rows]
        axes.plot(*_curve(table, printed), ":", color=_RED, label="CPU, as printed, 4n³/t")
        _label(axes, table, _SIZE, "GFLOPS")

    def speed_up(axes: Axes) -> None:
        recomputed = [published_ratio(table, ratio, row) for row in table.rows]
        _draw_published(axes, "published times", _curve(table, recomputed), _BLUE)
        printed = [_value(table.find("speed-up"), row) for row in table.rows]
        axes.plot(*_curve(table, printed), ":", color=_BLUE, label="as printed")
        for executor, order in _executors(table, table.find("GPU"), measurements):
            measured = [measurements.ratio(table, ratio, executor, row) for row in table.rows]
            name = f"here, GPU: {executor}"
            _draw_measured(axes, name, _curve(table, measured), _GREEN, order)
        axes.axhline(1.0, color="#888888", linewidth=0.8)
        _label(axes, table, _SIZE, "CPU time / GPU time")

    yield Plot(f"{paper.id}-gflops", f"{paper.short}, GFLOPS", gflops)
    yield Plot(f"{paper.id}-speed-up", f"{paper.short}, speed-up", speed_up)


def _gflops(row: Row, seconds: float | None) -> float | None:
    return rate(Rate.GFLOPS, row[0], seconds)


_PLOTS: dict[str, Callable[[Paper, Measurements], Iterator[Plot]]] = {
    "dobravec-bulic-2017": _dobravec_bulic,
    "opengl-compute": _opengl_compute,
}


# Curves -----------------------------------------------------------------------------------------


def _ms(_: Row, seconds: float | None) -> float | None:
    return None if seconds is None else MS_PER_S * seconds


def _draw_series(
    axes: Axes,
    table: MeasuredTable,
    series: Series,
    measurements: Measurements,
    colour: str,
    *,
    of: Callable[[Row, float | None], float | None] = _ms,
    way: str = "",
) -> None:
    """What follows from the times of a series, published and on each executor; by default, ms.

    way: how it is computed, for the label of the published one.
    """
    published = [of(row, published_seconds(series, row)) for row in table.rows]
    _draw_published(axes, f"{series.label}, published{way}", _curve(table, published), colour)
    for executor, order in _executors(table, series, measurements):
        measured = [
            of(row, measurements.seconds(table, series, executor, row)) for row in table.rows
        ]
        name = f"{series.label}, here on {executor}"
        _draw_measured(axes, name, _curve(table, measured), colour, order)


def _executors(
    table: MeasuredTable, series: Series, measurements: Measurements
) -> list[tuple[str, int]]:
    """The executors that may run a series, each with its number among all executors."""
    order = list(measurements.devices)
    names = measurements.candidates.get((table.id, series.label), ())
    return [(name, order.index(name)) for name in names]


def _value(series: Series, row: Row) -> float | None:
    cell = series.at(*row)
    return None if cell is None else cell.value


def _curve(table: MeasuredTable, values: Sequence[float | None]) -> Curve:
    """A value for each row; NaN, a gap in the line, where it is missing or 0."""
    return [_place(row) for row in table.rows], [value or nan for value in values]


def _place(row: Row) -> int:
    size, block = row
    return size if block is None else block**2


def _draw_published(axes: Axes, label: str, curve: Curve, colour: str) -> None:
    axes.plot(*curve, "o-", color=colour, linewidth=2.0, markersize=5.0, label=label)


def _draw_measured(axes: Axes, label: str, curve: Curve, colour: str, order: int) -> None:
    """A dashed curve, with the line and marks of an executor; no curve where nothing was run."""
    if all(isnan(value) for value in curve[1]):
        return
    axes.plot(
        *curve,
        _MARKS[order % len(_MARKS)],
        linestyle=_LINES[order % len(_LINES)],
        color=colour,
        linewidth=1.1,
        markersize=4.5,
        markerfacecolor="white",
        label=label,
    )


def _label(axes: Axes, table: MeasuredTable, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    set_powers_of_two(axes, [_place(row) for row in table.rows])
    axes.set_yscale("log")
    set_plain_numbers(axes)
