"""A benchmark, drawn: a line for each who was measured, over the cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.bench import Bench, Timed, varying
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

_MS = 1e3


class _Line(NamedTuple):
    """The properties that a line's points share. family: has a colour. variant: see `varying`."""

    is_own: bool
    family: str
    executor: str
    label: str
    variant: tuple[object, ...]


def draw_bench(bench: Bench, path: Path) -> None:
    """Draw GFLOPS of a benchmark, or times if a plan has none: PNG, SVG or PDF.

    Cases are places on the x axis: the values of the parameter that tells them apart, on a
    logarithmic axis, or their labels if there is none. Each line has its name at its end; its
    colour shows the plan if there are several, its marks the executor. A bar is from the fastest to
    the slowest run. Peers and reference functions are dashed. Raises InputError if there is nothing
    to draw, or the figure cannot be written.
    """
    if not bench.results:
        raise InputError("nothing was measured, so there is nothing to plot; see the table")
    has_rates = all(result.gflops for result in bench.results)
    lines = _lines(bench)
    figure = new_figure(height_inches=height_for_labels(len(lines)))
    axes = figure.subplots()
    style_axes(axes)
    axes.set_yscale("log")
    name, places = _places(bench)
    for line in lines:
        lines[line].sort(key=lambda result: places[result.case])
    _draw(axes, lines, places, has_rates=has_rates)
    set_plain_numbers(axes)
    if name is None:
        axes.set_xticks(list(places.values()), list(places))
    else:
        set_powers_of_two(axes, sorted(places.values()))
        axes.set_xlabel(name)
    time = ("whole call", "whole calls") if bench.whole else ("compute time", "the passes alone")
    axes.set_ylabel(f"GFLOPS over the {time[0]}" if has_rates else f"ms, {time[1]}")
    said = [] if has_rates else ["Medians; a bar is from the fastest run to the slowest one."]
    add_head(figure, ", ".join(bench.plans), bench.where, *said)
    save_figure(figure, path)


def _lines(bench: Bench) -> dict[_Line, list[Timed]]:
    several, names = len(bench.plans) > 1, varying(bench.results)
    lines: dict[_Line, list[Timed]] = {}
    for result in bench.results:
        plan = result.plan if several else None
        label = result.name
        if plan:
            label = f"{plan}, {label}" if result.is_own else f"{label} of {plan}"
        variant = tuple(result.parameters.get(name) for name in names)
        label += "".join(
            f", {name} = {value}"
            for name, value in zip(names, variant, strict=True)
            if name in result.parameters
        )
        line = _Line(result.is_own, plan or result.executor, result.executor, label, variant)
        lines.setdefault(line, []).append(result)
    check_count(len(lines), MOST_LINES, "lines")
    return lines


def _places(bench: Bench) -> tuple[str | None, dict[str, int]]:
    """The position of each case on the x axis, and the parameter that is drawn there, if any."""
    cases = {result.case: result.parameters for result in reversed(bench.results)}
    for name in next(iter(cases.values())) if len(cases) > 1 else ():
        values = {case: parameters.get(name) for case, parameters in cases.items()}
        places = {case: value for case, value in values.items() if type(value) is int and value > 0}
        if len(set(places.values())) == len(cases):
            return name, places
    return None, {case: number for number, case in enumerate(reversed(cases))}


def _draw(
    axes: Axes, lines: dict[_Line, list[Timed]], places: dict[str, int], *, has_rates: bool
) -> None:
    from gpgpu_legacy.present.labels import label_lines

    families = list(dict.fromkeys(line.family for line in lines))
    executors = list(dict.fromkeys(line.executor for line in lines))
    for line in sorted(lines, key=lambda line: not line.is_own) if has_rates else lines:
        results = lines[line]
        xs = [places[result.case] for result in results]
        ys = [(result.gflops or 0.0) if has_rates else _MS * result.seconds for result in results]
        below = [_MS * (result.seconds - result.spread[0]) for result in results]
        above = [_MS * (result.spread[1] - result.seconds) for result in results]
        colour = COLOURS[families.index(line.family) % len(COLOURS)]
        drawn = axes.errorbar(
            xs,
            ys,
            yerr=None if has_rates else [below, above],
            marker=MARKS[executors.index(line.executor) % len(MARKS)],
            linestyle="-" if line.is_own else "--",
            color=colour,
            linewidth=1.8 if line.is_own else 1.3,
            elinewidth=0.8,
            capsize=2.0,
            markersize=5.0,
            markerfacecolor=None if line.is_own or not has_rates else "white",
            label=line.label,
        )
        drawn.lines[0].set_label(line.label)
    label_lines(axes)
