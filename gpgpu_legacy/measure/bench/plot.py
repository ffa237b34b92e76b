"""What bench measured, drawn over the size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.bench.record import Bench, Result
from gpgpu_legacy.measure.platform import settings_in_words
from gpgpu_legacy.present.plot import (
    COLOURS,
    MARKS,
    add_head,
    check_count,
    height_for_labels,
    new_figure,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_LINES = 100
"""Lines of a plot, each of which has its name beside it."""


class _Line(NamedTuple):
    """What the points of one line have in common."""

    is_peer: bool
    method: str
    of: str | None
    executor: str
    block: int | None

    @property
    def family(self) -> str:
        """The method; for a peer that runs one of ours, that one. It has a colour."""
        return self.of or self.method

    @property
    def label(self) -> str:
        """The words beside the line."""
        if self.of:
            return f"{self.method} of {self.of}"
        return self.method if self.is_peer else f"{self.method}, {self.executor}"


_Lines = dict[_Line, list[tuple[int, float]]]


def draw_bench(bench: Bench, path: Path) -> None:
    """Draw GFLOPS against n of a benchmark, on logarithmic axes: PNG, SVG or PDF, as the path ends.

    Each line is a method on an executor at a block, with its name at its end: its colour identifies
    the method, its markers the executor. Peers are dashed. Raises InputError where there is nothing
    to draw.
    """
    shown = [result for result in bench.results if result.gflops]
    if not shown:
        raise InputError("no result has GFLOPS, so there is nothing to plot; see the table")
    lines = _lines(shown)
    figure = new_figure(height_inches=height_for_labels(len(lines)))
    axes = figure.subplots()
    style_axes(axes)
    axes.set_yscale("log")
    _draw_lines(axes, lines)
    set_powers_of_two(axes, sorted({result.size for result in shown}))
    set_plain_numbers(axes)
    time = "whole call" if bench.whole else "compute time"
    axes.set_xlabel("size n of the n×n matrices")
    axes.set_ylabel(f"GFLOPS, 2n³ over the {time}")
    add_head(
        figure, "Products of n×n matrices", f"{bench.device}{settings_in_words(bench.settings)}"
    )
    save_figure(figure, path)


def _lines(shown: list[Result]) -> _Lines:
    lines: _Lines = {}
    for result in shown:
        line = _Line(result.peer, result.method, result.of, result.executor, result.block)
        lines.setdefault(line, []).append((result.size, result.gflops or 0.0))
    check_count(len(lines), MOST_LINES, "lines")
    return lines


def _draw_lines(axes: Axes, lines: _Lines) -> None:
    from gpgpu_legacy.present.labels import label_lines

    blocks: dict[str, set[int | None]] = {}
    for line in lines:
        blocks.setdefault(line.family, set()).add(line.block)
    families = list(blocks)
    executors = list(dict.fromkeys(line.executor for line in lines))
    for line in sorted(lines, key=lambda line: (line.is_peer, families.index(line.family))):
        points = sorted(lines[line])
        several = len(blocks[line.family]) > 1
        axes.plot(
            [n for n, _ in points],
            [rate for _, rate in points],
            MARKS[executors.index(line.executor) % len(MARKS)],
            linestyle="--" if line.is_peer else "-",
            color=COLOURS[families.index(line.family) % len(COLOURS)],
            linewidth=1.3 if line.is_peer else 1.8,
            markersize=5.0,
            markerfacecolor="white" if line.is_peer else None,
            label=f"{line.label}, b = {line.block}" if several else line.label,
        )
    label_lines(axes)
