"""The host's outliers, misses and times, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

from gpgpu_legacy.present.plot import (
    GREY,
    MARKS,
    add_legend,
    new_figure,
    save_figure,
    style_axes,
)
from gpgpu_legacy.studies.host_anomaly.evidence import needed_misses
from gpgpu_legacy.studies.host_anomaly.model import Anomaly, first_of_each_machine

_COLOURS = ("#1a56a8", "#2e7d32", "#8e5bb5", "#b07a1e", "#00838f", "#6d4c41", "#ad1457", "#546e7a")


_PUBLISHED = "#b3261e"


def draw_anomaly(anomalies: Sequence[Anomaly], path: Path) -> None:
    """Misses and published outliers over n, and below them the times of an iteration.

    One curve for each case of the first machine, and for the first of each other machine; sizes are
    evenly spaced. Raises InputError where the file cannot be written.
    """
    firsts = first_of_each_machine(anomalies)
    drawn = [one for one in anomalies if one.host == firsts[0].host or one in firsts]
    figure = new_figure(8.4, 7.6)
    misses, times = figure.subplots(2, 1, sharex=True)
    rows = sorted(anomalies[0].rows, key=lambda row: row.size)
    places = range(len(rows))
    outliers = {call.size for call in anomalies[0].evidence.calls if call.is_published}
    for place, row in zip(places, rows, strict=True):
        if row.size in outliers:
            label = "published outlier" if row.size == min(outliers) else None
            misses.axvspan(place - 0.4, place + 0.4, color=_PUBLISHED, alpha=0.15, label=label)
    limit = 2 * needed_misses(anomalies[0].case.hierarchy.l2.line_bytes)
    misses.axhline(limit, color=GREY, linewidth=0.8, linestyle=":", label="outlier above")
    for i, anomaly in enumerate(drawn):
        own = sorted(anomaly.rows, key=lambda row: row.size)
        style: dict[str, Any] = {
            "marker": MARKS[i % len(MARKS)],
            "color": _COLOURS[i % len(_COLOURS)],
            "linewidth": 1.2,
            "markersize": 4.5,
        }
        predicted = [nan if row.predicted_ns is None else row.predicted_ns for row in own]
        misses.plot(places, [row.simulated.misses for row in own], label=anomaly.name, **style)
        times.plot(places, predicted, "--", label=f"predicted: {anomaly.name}", **style)
    published = [nan if row.published_ns is None else row.published_ns for row in rows]
    times.plot(
        places, published, "s", color=_PUBLISHED, markersize=6.5, label="published", zorder=9
    )
    misses.set_ylabel("misses per iteration")
    misses.set_title("MulH of Dobravec & Bulić 2017 on the host", loc="left", fontsize=11)
    times.set_ylabel("ns per iteration, penalties fitted")
    times.set_xlabel("n of the n×n matrices, evenly spaced")
    times.set_xticks(list(places), [str(row.size) for row in rows], rotation=45)
    for axes in (misses, times):
        axes.set_ylim(bottom=0)
        style_axes(axes)
        add_legend(axes, fontsize=7)
    save_figure(figure, path)
