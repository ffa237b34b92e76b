"""The plots of two papers redrawn: the published curves, and those measured here beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_output_folder
from gpgpu_legacy.papers.measured.model import (
    Measurements,
    published_ratio,
    published_seconds,
    rate,
)
from gpgpu_legacy.present.plot import (
    SIZE_LABEL,
    add_legend,
    new_figure,
    save_figure,
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

_COLOURS = ("#b3261e", "#202124", "#1a56a8", "#2e7d32")  # 002's red, black and blue, and one more
_MARKS = ("s", "^", "D", "v")
_LINES = ("--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)))


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of a paper: its file's name without suffix, and what draws it."""

    name: str
    draw: Callable[[Axes], None]


def plots(paper: Paper, measurements: Measurements | None = None) -> tuple[Plot, ...]:
    """The plots of a paper; InputError where it has none."""
    if paper.id not in _PLOTS:
        raise InputError(f"{paper.id} has no plots; choose from {', '.join(sorted(_PLOTS))}")
    return tuple(_PLOTS[paper.id](paper, measurements))


def check_plots(paper: Paper, folder: Path) -> None:
    """InputError where the paper has no plots or the folder cannot be written to."""
    plots(paper)
    check_output_folder(folder)


def write_plots(paper: Paper, folder: Path, measurements: Measurements | None = None) -> list[Path]:
    """Draw every plot of a paper as a .png in a folder, which is made if need be."""
    check_plots(paper, folder)
    folder.mkdir(exist_ok=True)
    written = []
    for plot in plots(paper, measurements):
        path = folder / f"{plot.name}.png"
        figure = new_figure()
        axes = figure.subplots()
        plot.draw(axes)
        style_axes(axes)
        add_legend(axes)
        save_figure(figure, path)
        written.append(path)
    return written


# Dobravec & Bulić ------------------------------------------------------------------------------


def _dobravec_bulic(paper: Paper, measurements: Measurements | None) -> Iterator[Plot]:
    table_1, table_2 = (t for t in paper.measured if t.id.rsplit("/", 1)[1].startswith("table"))

    def figure_1(axes: Axes) -> None:
        for i, series in enumerate(table_1.series):
            _times(axes, table_1, series, measurements, i)
        _label(axes, table_1, f"{paper.short}, Figure 1", SIZE_LABEL, "time, ms")

    def figure_2(axes: Axes) -> None:
        _times(axes, table_2, table_2.find("MulDS"), measurements, 2)
        _times(axes, table_2, table_2.find("MulH"), measurements, 0)
        _label(axes, table_2, f"{paper.short}, Figure 2, n = 512", "threads in a block", "time, ms")

    yield Plot(f"{paper.id}-figure-1", figure_1)
    yield Plot(f"{paper.id}-figure-2", figure_2)


# The OpenGL compute-shader multiply -------------------------------------------------------------


def _opengl_compute(paper: Paper, measurements: Measurements | None) -> Iterator[Plot]:
    [table] = paper.measured
    ratio = table.ratios[0]

    def gflops(axes: Axes) -> None:
        for i, series in enumerate((table.find("CPU"), table.find("GPU"))):

            def published(row: Row, series: Series = series) -> float | None:
                return rate(Rate.GFLOPS, row[0], published_seconds(series, row))

            _published(axes, f"{series.label}, published, 2n³/t", _curve(table, published), 2 * i)
            for name, order in _sources(table, series, measurements):

                def measured(row: Row, series: Series = series, by: str = name) -> float | None:
                    assert measurements is not None
                    seconds = measurements.seconds(table, series, by, row)
                    return rate(Rate.GFLOPS, row[0], seconds)

                label = f"{series.label}, here on {name}"
                _measured(axes, label, _curve(table, measured), 2 * i, order)
        printed = _curve(table, lambda row: _value(table.find("CPU GFLOPS"), row))
        axes.plot(*printed, ":", color=_COLOURS[0], label="CPU, as printed, 4n³/t")
        _label(axes, table, f"{paper.short}, GFLOPS", SIZE_LABEL, "GFLOPS")

    def speed_up(axes: Axes) -> None:
        recomputed = _curve(table, lambda row: published_ratio(table, ratio, row))
        _published(axes, "published times", recomputed, 2)
        printed = _curve(table, lambda row: _value(table.find("speed-up"), row))
        axes.plot(*printed, ":", color=_COLOURS[2], label="as printed")
        for name, order in _sources(table, table.find("GPU"), measurements):

            def measured(row: Row, name: str = name) -> float | None:
                assert measurements is not None
                return measurements.ratio(table, ratio, name, row)

            _measured(axes, f"here, GPU: {name}", _curve(table, measured), 3, order)
        axes.axhline(1.0, color="#888888", linewidth=0.8)
        _label(axes, table, f"{paper.short}, speed-up", SIZE_LABEL, "CPU time / GPU time")

    yield Plot(f"{paper.id}-gflops", gflops)
    yield Plot(f"{paper.id}-speed-up", speed_up)


_PLOTS: dict[str, Callable[[Paper, Measurements | None], Iterator[Plot]]] = {
    "dobravec-bulic-2017": _dobravec_bulic,
    "opengl-compute": _opengl_compute,
}


# Curves -----------------------------------------------------------------------------------------


def _times(
    axes: Axes, table: MeasuredTable, series: Series, measurements: Measurements | None, colour: int
) -> None:
    """A series' times in ms: published, and by each executor."""

    def published(row: Row) -> float | None:
        return _value(series, row)

    _published(axes, f"{series.label}, published", _curve(table, published), colour)
    for name, order in _sources(table, series, measurements):

        def measured(row: Row, name: str = name) -> float | None:
            assert measurements is not None
            seconds = measurements.seconds(table, series, name, row)
            return None if seconds is None else 1e3 * seconds

        label = f"{series.label}, here on {name}"
        _measured(axes, label, _curve(table, measured), colour, order)


def _sources(
    table: MeasuredTable, series: Series, measurements: Measurements | None
) -> list[tuple[str, int]]:
    """Each executor that measured a series, and its place among those there are."""
    if measurements is None:
        return []
    order = list(measurements.devices)
    return [(name, order.index(name)) for name in measurements.candidates[table.id, series.label]]


def _value(series: Series, row: Row) -> float | None:
    cell = series.at(*row)
    return None if cell is None else cell.value


def _curve(table: MeasuredTable, value: Callable[[Row], float | None]) -> Curve:
    """Every row's value; NaN, a gap in the line, where there is none or a log scale shows none."""
    return [_place(row) for row in table.rows], [value(row) or nan for row in table.rows]


def _place(row: Row) -> int:
    size, block = row
    return size if block is None else block**2


def _published(axes: Axes, label: str, curve: Curve, colour: int) -> None:
    axes.plot(*curve, "o-", color=_COLOURS[colour], linewidth=2.0, markersize=5.0, label=label)


def _measured(axes: Axes, label: str, curve: Curve, colour: int, order: int) -> None:
    """Broken lines and marks of the executor's own, by its order; nothing where nothing was run."""
    if all(isnan(value) for value in curve[1]):
        return
    axes.plot(
        *curve,
        _MARKS[order % len(_MARKS)],
        linestyle=_LINES[order % len(_LINES)],
        color=_COLOURS[colour],
        linewidth=1.1,
        markersize=4.5,
        markerfacecolor="white",
        label=label,
    )


def _label(axes: Axes, table: MeasuredTable, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    set_powers_of_two(axes, [_place(row) for row in table.rows])
    axes.set_yscale("log")
    set_plain_numbers(axes)
