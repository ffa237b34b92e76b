"""Pictures of caches: sweeps, and heat maps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpgpu_legacy.algorithms.parameters import Plain
from gpgpu_legacy.cache.caches import parse_cache
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.colours import hex_of
from gpgpu_legacy.present.grid import plain
from gpgpu_legacy.present.plot import (
    COLOURS,
    LINES,
    MARKS,
    WIDTH,
    height_for_labels,
    label_lines,
    new_figure,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)

if TYPE_CHECKING:
    from gpgpu_legacy.cache.simulate import HeatMap

Varied = Mapping[str, Plain]
"""The properties of a run that a sweep may vary, by the headings of its columns."""

ORDER = ("raster order", "layout", "in flight")


def text_of(name: str, value: Plain) -> str:
    """A varying property and its value, for people."""
    if name == "in flight":
        return f"{value} in flight"
    return str(value) if name in {"plan", "cache", *ORDER} else f"{name} = {value}"


def varying_of(varied: Sequence[Varied]) -> list[str]:
    """The names of the properties that differ between runs."""
    names = dict.fromkeys(chain(*varied))
    return [name for name in names if len({one[name] for one in varied if name in one}) > 1]


def bytes_text(count: float) -> str:
    """A number of bytes with the largest suffix: 512 B, 8 KB, 1.5 MB; 1 KB is 1024 bytes."""
    for suffix in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.3g} {suffix}"
        count /= 1024
    return f"{count:.3g} GB"


_SWEEP_HEIGHT = 6.4  # inches, of two charts
_KB = 1024

_CAPACITY, _KIND = "size of the cache", "kind of cache"
_AXES = ("in flight", "raster order", "layout", "cache", "plan")
_LABELS = {"in flight": "fragments or quads in flight"}


def _value(run: Varied, name: str) -> Any:
    """A run's value of a varying property."""
    if name in {_CAPACITY, _KIND}:
        cache = str(run["cache"]).partition(" ")[0]
        return parse_cache(cache).size_bytes if name == _CAPACITY else cache.partition(",")[2]
    return run.get(name)


def across_of(runs: Sequence[Varied]) -> tuple[str, list[str]]:
    """The property on the x axis of a sweep, and the other varying ones: a line per combination.

    The x axis has the last numeric parameter that varies, or else the first that varies of the size
    of the cache, _AXES and the other parameters. Raises InputError if nothing varies.
    """

    def varies(name: str) -> bool:
        return len({_value(run, name) for run in runs}) > 1

    parameters = [name for name in varying_of(runs) if name in runs[0] and name not in _AXES][::-1]
    numbers = [name for name in parameters if _is_number(runs, name)]
    axes = [*numbers, _CAPACITY, *_AXES, *parameters]
    across = next(filter(varies, axes), None)
    if across is None:
        raise InputError(
            "the x axis of a plot is a parameter, the size of the cache, the number in flight, "
            "raster order or layout; give several values of a parameter, as in n=256,512, or of "
            "--cache, --in-flight, --raster or --layout"
        )
    others = [*parameters, _KIND if across == _CAPACITY else "cache", *ORDER, "plan"]
    return across, [name for name in others if name != across and varies(name)]


def _is_number(runs: Sequence[Varied], name: str) -> bool:
    return all(type(_value(run, name)) in {int, float} for run in runs)


def draw_sweep(
    wanted: Sequence[Varied],
    results: Sequence[tuple[int, float]],
    title: Callable[[Sequence[str]], str],
    path: Path | str,
) -> None:
    """Draw bytes from memory and hit ratio over the property that `across_of` chooses.

    Each combination of the other varying properties is a line. wanted: all runs of the sweep.
    results: the bytes and hit ratios of the first of these runs. title: makes the caption from the
    names of what varies. Raises InputError if nothing varies, or there are no results.
    """
    if not results:
        raise InputError("the budget was spent before a run was complete; give a larger --budget")
    across, others = across_of(wanted)
    is_number, shown = _is_number(wanted, across), wanted[: len(results)]
    values = [*dict.fromkeys(_value(run, across) for run in shown)]
    if is_number:
        values.sort()
    lines = defaultdict[tuple[Any, ...], list[tuple[float, int, float]]](list)
    for run, result in zip(shown, results, strict=True):
        place, key = _value(run, across), tuple(_value(run, other) for other in others)
        lines[key].append((place if is_number else values.index(place), *result))
    figure = new_figure(height_inches=max(_SWEEP_HEIGHT, 2 * height_for_labels(len(lines)) - 4.0))
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes in (upper, lower):
        style_axes(axes)
    for number, (key, points) in enumerate(lines.items()):
        places, counts, ratios = np.array(sorted(points)).T
        style: dict[str, Any] = {
            "marker": MARKS[number % len(MARKS)],
            "color": COLOURS[number % len(COLOURS)],
            "linestyle": LINES[number // len(COLOURS) % len(LINES)],
            "markersize": 4.5,
            "label": ", ".join(
                value if name == _KIND else text_of(name, value)
                for name, value in zip(others, key, strict=True)
            ),
        }
        upper.plot(places, counts / _KB, **style)
        lower.plot(places, 100 * ratios, **style)
    upper.set_yscale("log")
    for axes, what in ((upper, "KB from memory"), (lower, "hits, % of all accesses")):
        if is_number:
            set_powers_of_two(axes, values, bytes_text if across == _CAPACITY else str)
        else:
            axes.set_xticks(range(len(values)), [str(value) for value in values])
        axes.set_ylabel(what)
        if others:
            label_lines(axes)
    lower.set_xlabel(_LABELS.get(across, across))
    set_plain_numbers(upper)
    figure.align_ylabels()
    varying = [{_CAPACITY: "cache", _KIND: "cache"}.get(name, name) for name in (across, *others)]
    save_figure(figure, path, title(varying))


# Where the reads of a plan hit -------------------------------------------------------------------

_NO_READS = (200, 200, 200)
_HITS = ((59, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191))
"""The colours of the scale from the lowest hit ratio to the highest, interpolated."""

_MAP_WIDTH = 6.4  # inches, without axes and scale
_LEAST, _MOST, _FRAME = 1.2, 6.4, 0.7  # inches: least and most height, and space below
_TICKS = 9  # at most, on an axis
_LONG = 8  # a map this many times as long as wide is stretched


def draw_heat_map(heat: HeatMap, title: str, path: Path) -> None:
    """Draw a heat map with its scale, from the lowest to the highest ratio: row 0 at the bottom.

    title: the run in words. Raises InputError if the file cannot be written.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import PercentFormatter

    ratio = np.ma.masked_array(heat.hits, heat.reads == 0) / np.maximum(heat.reads, 1)
    low, high = (float(ratio.min()), float(ratio.max())) if ratio.count() else (0.0, 1.0)
    low = low if low < high else high - 0.01  # one colour, that of the highest
    colours = LinearSegmentedColormap.from_list("hits", list(map(hex_of, _HITS)))
    colours.set_bad(hex_of(_NO_READS))
    rows, columns = ratio.shape
    height = min(max(_MAP_WIDTH * rows / columns, _LEAST), _MOST)
    figure = new_figure(WIDTH, height + _FRAME)
    axes = figure.subplots()
    is_long = max(rows, columns) > _LONG * min(rows, columns)
    image = axes.imshow(
        ratio, colours, aspect="auto" if is_long else "equal", origin="lower", vmin=low, vmax=high,
    )  # fmt: skip
    axes.locator_params(nbins=_TICKS, integer=True)
    axes.set_xlabel("column (x)")
    axes.set_ylabel("row (y)")
    bar = figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02)
    bar.set_label("reads that hit")
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    caption = (
        f"Reads that hit, of the fragments of a rectangle of {columns}×{rows}, row 0 lowest: "
        f"{title}. {plain(int(heat.hits.sum()))} of {plain(int(heat.reads.sum()))} reads hit. "
        "Grey: no reads."
    )
    save_figure(figure, path, "Where the reads hit", caption)
