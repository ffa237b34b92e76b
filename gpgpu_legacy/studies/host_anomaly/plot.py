"""The host's misses and times, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.files import write_whole
from gpgpu_legacy.studies.host_anomaly.model import Anomaly
from gpgpu_legacy.studies.host_anomaly.table import _name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_INCHES, _DPI = (8.4, 6.4), 150


_COLOURS = ("#1a56a8", "#2e7d32", "#8e5bb5", "#b07a1e", "#00838f", "#6d4c41", "#ad1457", "#546e7a")


_MARKS = ("o", "^", "D", "v", "P", "X", "<", ">")


_PUBLISHED = "#b3261e"


_PAPER_COLOUR, _GRID_LINE = "#fcfcf9", "#d8d8d2"


def draw_anomaly(found: Sequence[Anomaly], path: Path) -> None:
    """Published and predicted time of an inner iteration over n, and below the misses.

    A curve for each machine and paging; sizes stand at equal distances. Raises InputError where the
    file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(_INCHES, dpi=_DPI, facecolor=_PAPER_COLOUR, layout="constrained")
    FigureCanvasAgg(figure)
    times, misses = figure.subplots(2, 1, sharex=True)
    rows = sorted(found[0].rows, key=lambda row: row.size)
    places = range(len(rows))
    for i, each in enumerate(found):
        own = sorted(each.rows, key=lambda row: row.size)
        style: dict[str, Any] = {
            "marker": _MARKS[i % len(_MARKS)],
            "color": _COLOURS[i % len(_COLOURS)],
            "linewidth": 1.2,
            "markersize": 4.5,
        }
        predicted = [nan if row.predicted_ns is None else row.predicted_ns for row in own]
        times.plot(places, predicted, "--", label=f"predicted: {_name(each)}", **style)
        misses.plot(places, [row.found.misses for row in own], label=_name(each), **style)
    published = [nan if row.published_ns is None else row.published_ns for row in rows]
    times.plot(
        places, published, "s", color=_PUBLISHED, markersize=6.5, label="published", zorder=9
    )
    times.set_ylabel("ns an inner iteration")
    times.set_title("MulH of Dobravec & Bulić 2017 on the host", loc="left", fontsize=11)
    misses.set_ylabel("misses an inner iteration")
    misses.set_xlabel("size n of the n×n matrices, at equal distances")
    misses.set_xticks(list(places), [str(row.size) for row in rows], rotation=45)
    for axes in (times, misses):
        _finish(axes)
    times.legend(fontsize=7, framealpha=0.9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    write_whole(path, lambda to: figure.savefig(to, format="png", facecolor=_PAPER_COLOUR))


def _finish(axes: Axes) -> None:
    axes.set_facecolor("white")
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, which="major", color=_GRID_LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
