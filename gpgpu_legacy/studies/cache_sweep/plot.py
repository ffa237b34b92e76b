"""Pictures of what caches do: sweeps, miss-ratio curves, heat maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    COLOURS,
    LINES,
    MARKS,
    add_head,
    height_for_labels,
    new_figure,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.studies.cache_sweep.model import Case, Curve, Run, Sweep


def bytes_text(count: float) -> str:
    """A number of bytes with the largest suffix: 512 B, 8 KB, 1.5 MB; 1 KB is 1024 bytes."""
    for suffix in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.3g} {suffix}"
        count /= 1024
    return f"{count:.3g} GB"


_SWEEP_HEIGHT = 6.4  # inches, of two charts
_KB = 1024

# Sweeps ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Dimension:
    """Something that a sweep may vary: its value in a run, and as people read it."""

    name: str
    of: Callable[[Case], Any] = field(compare=False)
    text: Callable[[Any], str] = field(default=str, compare=False)
    is_number: bool = False


_CAPACITY = _Dimension(
    "size of the cache", lambda case: case.memory.levels[0].size_bytes, bytes_text, is_number=True
)
_CACHE = _Dimension("cache", lambda case: str(case.memory.levels[0]))
_KIND = _Dimension("kind of cache", lambda case: str(case.memory.levels[0]).partition(",")[2])
_RASTER = _Dimension("raster order", lambda case: case.access.raster.name)
_LAYOUT = _Dimension("layout", lambda case: case.access.layout.name)
_IN_FLIGHT = _Dimension(
    "fragments or quads in flight",
    lambda case: case.access.in_flight,
    lambda value: f"{value} in flight",
    is_number=True,
)
_NAMES = {"n": "size n", "b": "block b"}


def _sizes(case: Case) -> list[_Dimension]:
    """The sizes of the plans, as the columns of tables."""
    return [_size(name) for name in case.subject.sizes]


def _size(name: str) -> _Dimension:
    return _Dimension(
        _NAMES.get(name, name),
        lambda case: case.subject.sizes[name],
        lambda value: f"{name} = {value}",
        is_number=True,
    )


def _title(case: Case, dimensions: Iterable[_Dimension]) -> str:
    given = [one.text(one.of(case)) for one in dimensions if one.of(case) is not None]
    return ", ".join([case.subject.name, *given])


def check_sweep(wanted: Sequence[Case]) -> None:
    """InputError where the plot of a sweep would have no axis."""
    _across(wanted)


def _across(wanted: Sequence[Case]) -> tuple[_Dimension, list[_Dimension]]:
    """The dimension of the x axis, and the others that vary: a line for each combination."""

    def varies(dimension: _Dimension) -> bool:
        return len({dimension.of(case) for case in wanted}) > 1

    *sizes, block = _sizes(wanted[0]) or [_CAPACITY]
    axes = (block, _CAPACITY, *sizes, _IN_FLIGHT, _RASTER, _LAYOUT)
    across = next(filter(varies, axes), None)
    if across is None:
        raise InputError(
            "the x axis of a plot is b, the size of the cache, n, the number in flight, raster "
            "order or layout; give several of --block, --cache, --size, --in-flight, --raster or "
            "--layout"
        )
    cache = _KIND if across is _CAPACITY else _CACHE
    others = (*_sizes(wanted[0])[::-1], cache, _RASTER, _LAYOUT, _IN_FLIGHT)
    return across, [other for other in others if other != across and varies(other)]


def draw_sweep(sweep: Sweep[Run], path: Path) -> None:
    """Bytes from memory and hit ratio over b, or else over the first dimension that varies.

    One line for each combination of the other dimensions that vary. Runs that the budget cut short
    are left out. Raises InputError where nothing varies, or no run is complete.
    """
    from gpgpu_legacy.present.labels import label_lines

    across, others = _across(sweep.cases)
    runs = [run for run in sweep.runs if run.result.exact]
    _check_any(runs)
    lines: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        lines.setdefault(tuple(other.of(run.case) for other in others), []).append(run)
    figure = new_figure(height_inches=max(_SWEEP_HEIGHT, 2 * height_for_labels(len(lines)) - 4.0))
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes in (upper, lower):
        style_axes(axes)
    values = list(dict.fromkeys(across.of(run.case) for run in runs))
    values = sorted(values) if across.is_number else values
    for number, (key, own) in enumerate(lines.items()):
        points = sorted(own, key=lambda run: values.index(across.of(run.case)))
        places = [across.of(run.case) for run in points]
        if not across.is_number:
            places = [values.index(place) for place in places]
        style: dict[str, Any] = {
            "marker": MARKS[number % len(MARKS)],
            "color": COLOURS[number % len(COLOURS)],
            "linestyle": LINES[number // len(COLOURS) % len(LINES)],
            "markersize": 4.5,
            "label": ", ".join(e.text(value) for e, value in zip(others, key, strict=True)),
        }
        upper.plot(places, [run.result.bytes_from_memory / _KB for run in points], **style)
        lower.plot(places, [100 * run.result.hit_ratio for run in points], **style)
    upper.set_yscale("log")
    for axes, what in ((upper, "KB from memory"), (lower, "hits, % of all accesses")):
        if across.is_number:
            set_powers_of_two(axes, values, bytes_text if across is _CAPACITY else str)
        else:
            axes.set_xticks(range(len(values)), values)
        axes.set_ylabel(what)
        if others:
            label_lines(axes)
    lower.set_xlabel(across.name)
    set_plain_numbers(upper)
    figure.align_ylabels()
    first = runs[0].case
    dimensions = (*_sizes(first), _CACHE, _RASTER, _LAYOUT)
    dimensions += (_IN_FLIGHT,) if first.access.in_flight > 1 else ()
    fixed = [one for one in dimensions if one not in {across, *others}]
    add_head(figure, _title(first, fixed))
    save_figure(figure, path)


def _check_any(done: Sequence[Run | Curve]) -> None:
    """InputError for a picture of nothing."""
    if not done:
        raise InputError("the budget was spent before a run was complete; give a larger --budget")


def draw_curves(curves: Sequence[Curve], path: Path) -> None:
    """Miss ratio over the size of a fully associative cache, a line a plan.

    Raises InputError where there is none.
    """
    from gpgpu_legacy.present.labels import label_lines

    _check_any(curves)
    figure = new_figure(height_inches=height_for_labels(len(curves)))
    axes = figure.subplots()
    style_axes(axes)
    axes.set_yscale("log")
    largest = 1
    for number, curve in enumerate(curves):
        case, distances = curve.case, curve.distances
        line_bytes = distances.line_bytes
        lines, misses = distances.curve()
        largest = max(largest, int(lines[-1]) * line_bytes)
        sizes = [one.text(one.of(case)) for one in _sizes(case) if one.of(case) is not None]
        label = ", ".join(sizes if case.of_kernels else [*sizes, str(case.access)])
        axes.step(
            np.asarray(lines) * line_bytes,
            np.asarray(misses) / max(1, distances.accesses),
            where="post",
            color=COLOURS[number % len(COLOURS)],
            linestyle=LINES[number // len(COLOURS) % len(LINES)],
            label=label,
        )
    first = curves[0].case
    smallest = curves[0].distances.line_bytes
    powers = [1 << k for k in range(smallest.bit_length() - 1, largest.bit_length() + 1)]
    set_powers_of_two(axes, powers, bytes_text)
    set_plain_numbers(axes)
    label_lines(axes)
    axes.set_xlabel(f"size of a fully associative LRU cache, lines of {smallest} bytes")
    axes.set_ylabel("misses / accesses")
    add_head(figure, f"{first.subject.name}: miss-ratio curves")
    save_figure(figure, path)
