"""The host's misses and times, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

from gpgpu_legacy.present.plot import MARKS, add_legend, new_figure, save_figure, style_axes
from gpgpu_legacy.studies.host_anomaly.model import Anomaly

_COLOURS = ("#1a56a8", "#2e7d32", "#8e5bb5", "#b07a1e", "#00838f", "#6d4c41", "#ad1457", "#546e7a")


_PUBLISHED = "#b3261e"


def draw_anomaly(anomalies: Sequence[Anomaly], path: Path) -> None:
    """Published and predicted time of an iteration over n, and the misses below.

    One curve for each machine and paging; sizes are evenly spaced. Raises InputError where the
    file cannot be written.
    """
    figure = new_figure(8.4, 6.4)
    times, misses = figure.subplots(2, 1, sharex=True)
    rows = sorted(anomalies[0].rows, key=lambda row: row.size)
    places = range(len(rows))
    for i, anomaly in enumerate(anomalies):
        own = sorted(anomaly.rows, key=lambda row: row.size)
        style: dict[str, Any] = {
            "marker": MARKS[i % len(MARKS)],
            "color": _COLOURS[i % len(_COLOURS)],
            "linewidth": 1.2,
            "markersize": 4.5,
        }
        predicted = [nan if row.predicted_ns is None else row.predicted_ns for row in own]
        times.plot(places, predicted, "--", label=f"predicted: {anomaly.name}", **style)
        misses.plot(places, [row.simulated.misses for row in own], label=anomaly.name, **style)
    published = [nan if row.published_ns is None else row.published_ns for row in rows]
    times.plot(
        places, published, "s", color=_PUBLISHED, markersize=6.5, label="published", zorder=9
    )
    times.set_ylabel("ns per iteration")
    times.set_title("MulH of Dobravec & Bulić 2017 on the host", loc="left", fontsize=11)
    misses.set_ylabel("misses per iteration")
    misses.set_xlabel("n of the n×n matrices, evenly spaced")
    misses.set_xticks(list(places), [str(row.size) for row in rows], rotation=45)
    for axes in (times, misses):
        axes.set_ylim(bottom=0)
        style_axes(axes)
    add_legend(times, fontsize=7)
    save_figure(figure, path)
