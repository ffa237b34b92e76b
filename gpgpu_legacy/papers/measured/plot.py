"""The plots of two papers redrawn: the published curves, and those measured here beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import Write, check_output_folder, write_folder
from gpgpu_legacy.papers.measured.table import TimedTable
from gpgpu_legacy.present.plot import (
    COLOURS,
    add_head,
    figure_of,
    new_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.published.papers import Paper, find_paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Tables = Sequence[TimedTable]
Names = Sequence[str]
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


def plots(paper: str, tables: Tables, executors: Names = ()) -> list[Plot]:
    """The plots of a paper; InputError if it has none. executors: where anything was run."""
    if paper not in _PLOTS:
        raise InputError(f"{paper} has no plots; choose from {', '.join(sorted(_PLOTS))}")
    return [*_PLOTS[paper](find_paper(paper), tables, executors)]


def check_plots(paper: str, tables: Tables, folder: Path) -> None:
    """Raise InputError if the paper has no plots, or they cannot be written to the folder."""
    check_output_folder(folder, tuple(map(_file, plots(paper, tables))))


def write_plots(paper: str, tables: Tables, executors: Names, folder: Path) -> None:
    """Draw every plot of a paper as a .png in a folder, which is made if need be."""
    write_folder(folder, {_file(plot): _drawn(plot) for plot in plots(paper, tables, executors)})


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


def _dobravec_bulic(paper: Paper, tables: Tables, executors: Names) -> Iterator[Plot]:
    table_1, table_2, *_ = tables

    def figure_1(axes: Axes) -> None:
        for number, series in enumerate(table_1.published.series):
            _draw_series(axes, executors, table_1, series.label, _COLOURS[number])
        _label(axes, table_1, _SIZE, "time, ms")

    def figure_2(axes: Axes) -> None:
        _draw_series(axes, executors, table_2, "MulDS", _BLUE)
        _draw_series(axes, executors, table_2, "MulH", _RED)
        _label(axes, table_2, "threads in a block", "time, ms")

    yield Plot(f"{paper.id}-figure-1", f"{paper.short}, Figure 1", figure_1)
    yield Plot(f"{paper.id}-figure-2", f"{paper.short}, Figure 2, n = 512", figure_2)


# The OpenGL compute-shader multiply -------------------------------------------------------------


def _opengl_compute(paper: Paper, tables: Tables, executors: Names) -> Iterator[Plot]:
    [table] = tables

    def gflops(axes: Axes) -> None:
        for label, colour in (("CPU", _RED), ("GPU", _BLUE)):
            _draw_series(axes, executors, table, label, colour, rates=True)
        printed = [line.number("CPU GFLOPS") for line in table.rows]
        axes.plot(*_curve(table, printed), ":", color=_RED, label="CPU, as printed, 4n³/t")
        _label(axes, table, _SIZE, "GFLOPS")

    def speed_up(axes: Axes) -> None:
        recomputed = [line.ratios[0].recomputed for line in table.rows]
        _draw_published(axes, "published times", _curve(table, recomputed), _BLUE)
        printed = [line.number("speed-up") for line in table.rows]
        axes.plot(*_curve(table, printed), ":", color=_BLUE, label="as printed")
        for executor, order in _executors(executors, table, "GPU"):
            measured = [line.ratios[0].measured[executor] for line in table.rows]
            name = f"here, GPU: {executor}"
            _draw_measured(axes, name, _curve(table, measured), _GREEN, order)
        axes.axhline(1.0, color="#888888", linewidth=0.8)
        _label(axes, table, _SIZE, "CPU time / GPU time")

    yield Plot(f"{paper.id}-gflops", f"{paper.short}, GFLOPS", gflops)
    yield Plot(f"{paper.id}-speed-up", f"{paper.short}, speed-up", speed_up)


_PLOTS: dict[str, Callable[[Paper, Tables, Names], Iterator[Plot]]] = {
    "dobravec-bulic-2017": _dobravec_bulic,
    "opengl-compute": _opengl_compute,
}


# Curves -----------------------------------------------------------------------------------------


def _draw_series(
    axes: Axes,
    executors: Names,
    table: TimedTable,
    label: str,
    colour: str,
    *,
    rates: bool = False,
) -> None:
    """The times of a series in ms, published and on each executor; or what rates follow."""
    way = ", 2n³/t" if rates else ""
    published = [line.number(label, rate=rates) for line in table.rows]
    _draw_published(axes, f"{label}, published{way}", _curve(table, published), colour)
    for executor, order in _executors(executors, table, label):
        measured = [line.number(label, executor, rate=rates) for line in table.rows]
        name = f"{label}, here on {executor}"
        _draw_measured(axes, name, _curve(table, measured), colour, order)


def _executors(executors: Names, table: TimedTable, label: str) -> list[tuple[str, int]]:
    """The executors that may run a series, each with its number among all executors."""
    return [(name, executors.index(name)) for name in table.candidates(label)]


def _curve(table: TimedTable, values: Sequence[float | None]) -> Curve:
    """A value for each row; NaN, a gap in the line, if it is missing or 0."""
    return [line.place for line in table.rows], [value or nan for value in values]


def _draw_published(axes: Axes, label: str, curve: Curve, colour: str) -> None:
    axes.plot(*curve, "o-", color=colour, linewidth=2.0, markersize=5.0, label=label)


def _draw_measured(axes: Axes, label: str, curve: Curve, colour: str, order: int) -> None:
    """A dashed curve, with the line and marks of an executor; no curve if nothing was run."""
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


def _label(axes: Axes, table: TimedTable, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    set_powers_of_two(axes, [line.place for line in table.rows])
    axes.set_yscale("log")
    set_plain_numbers(axes)
