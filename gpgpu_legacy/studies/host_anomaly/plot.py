"""The host's outliers: misses and times of one model, beside what was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.present.plot import (
    COLOURS,
    GREY,
    INK,
    SOFT,
    add_head,
    new_figure,
    save_figure,
    style_axes,
)
from gpgpu_legacy.studies.host_anomaly.result import listed
from gpgpu_legacy.studies.host_anomaly.simulation import Row, needed_misses

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpgpu_legacy.studies.host_anomaly.result import Model

_HEIGHT = 6.0  # inches
_SMALL = 9.0  # points
_PUBLISHED, _MODEL = COLOURS[2], COLOURS[1]
_ROOM = 1.32  # above the highest mark, for words


def draw_anomaly(models: Sequence[Model], path: Path) -> None:
    """Misses over n, and below them the published and the predicted times, of the first case.

    The published outliers are named; sizes are evenly spaced. Raises InputError where the file
    cannot be written.
    """
    model, rows = models[0], models[0].rows
    figure = new_figure(height_inches=_HEIGHT)
    misses, times = figure.subplots(2, 1, sharex=True)
    places = {row.size: place for place, row in enumerate(rows)}
    for axes in (misses, times):
        style_axes(axes)
        for outlier in model.outliers:
            place = places[outlier.size]
            axes.axvspan(place - 0.4, place + 0.4, color=_PUBLISHED, alpha=0.1, linewidth=0)
    _draw_misses(misses, model, places)
    _draw_times(times, model, places)
    times.set_xticks(range(len(rows)), [str(row.size) for row in rows], rotation=60)
    times.set_xlabel("n of the n×n matrices, evenly spaced")
    figure.align_ylabels()
    others = f" The tables have {len(models) - 1} other cases." if models[1:] else ""
    published, simulated = (
        listed(sizes) or "no size"
        for sizes in (
            [outlier.size for outlier in model.outliers],
            [row.size for row in rows if row.is_outlier],
        )
    )
    add_head(
        figure,
        "MulH of Dobravec & Bulić 2017 on the host",
        f"One model, {model.case.name}, on {model.case.host.title}.{others}",
        f"The published times jump at {published}; the simulated misses at {simulated}.",
    )
    save_figure(figure, path)


def _draw_misses(axes: Axes, model: Model, places: Mapping[int, int]) -> None:
    from gpgpu_legacy.present.labels import Label, Obstacles, label_points

    points = list(enumerate(row.misses for row in model.rows))
    axes.plot(*zip(*points, strict=True), "o-", color=_MODEL, linewidth=1.4, markersize=4.5)
    limit = 2 * needed_misses(model.case.hierarchy.l2.line_bytes)
    axes.axhline(limit, color=GREY, linewidth=0.9, linestyle=":")
    axes.annotate(
        "an outlier is above this", (0, limit), (0, 3), textcoords="offset points",
        fontsize=_SMALL, color=SOFT, verticalalignment="bottom",
    )  # fmt: skip
    axes.set_ylim(0, _ROOM * max(y for _, y in points))
    axes.set_ylabel("misses of level 2 an iteration")
    labels = [
        Label(
            places[row.size],
            row.misses,
            f"n = {row.size}: {row.misses:.3g} misses,\n{outlier.misses_beside:.2g} beside it",
            INK,
        )
        for outlier in model.outliers
        for row in [model.row(outlier.size)]
    ]
    label_points(axes, labels, Obstacles(points, [points]), _SMALL)


def _draw_times(axes: Axes, model: Model, places: Mapping[int, int]) -> None:
    from gpgpu_legacy.present.labels import Label, Obstacles, label_points

    predicted = [nan if row.predicted_ns is None else row.predicted_ns for row in model.rows]
    published = [nan if row.published_ns is None else row.published_ns for row in model.rows]
    axes.plot(predicted, "o--", color=_MODEL, linewidth=1.2, markersize=4.5, label="predicted")
    axes.plot(published, "s", color=_PUBLISHED, markersize=6.0, label="published")
    line, marks = (
        [(x, y) for x, y in enumerate(values) if not isnan(y)] for values in (predicted, published)
    )
    axes.set_ylim(0, _ROOM * max((y for _, y in (*line, *marks)), default=1.0))
    axes.set_ylabel("ns an iteration")
    axes.legend(loc="upper left", frameon=False, fontsize=9.5)
    labels = [
        Label(
            places[row.size],
            row.published_ns or 0.0,
            f"n = {row.size}: {row.published_ns:.3g} ns published{_predicted(row)}",
            _PUBLISHED,
        )
        for outlier in model.outliers
        for row in [model.row(outlier.size)]
    ]
    label_points(axes, labels, Obstacles([*line, *marks], [line]), _SMALL)


def _predicted(row: Row) -> str:
    if row.predicted_ns is None:
        return ""
    fitted = "fitted" if row.is_fitted else "predicted"
    return f",\n{row.predicted_ns:.3g} {fitted}"
