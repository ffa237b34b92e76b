"""What was measured of plans, drawn: a line for each executor over the cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.plan_bench.record import PlanBench
from gpgpu_legacy.measure.platform import settings_in_words
from gpgpu_legacy.present.plot import (
    COLOURS,
    MARKS,
    add_head,
    height_for_labels,
    new_figure,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MS = 1e3

_Kind = tuple[bool, bool, str]
"""Whether it is the reference function, whether it is a peer, and its name: it has a line."""


def draw_plan_bench(bench: PlanBench, path: Path) -> None:
    """Write a benchmark's times as a figure: PNG, SVG or PDF, as the path ends.

    The cases are places on the x axis: the values of the parameter that tells them apart, on a
    logarithmic axis, or their labels where there is no such one. A bar is from the fastest to the
    slowest run. The reference function and the peers are dashed.
    Raises InputError where there is nothing to draw, or the figure cannot be written.
    """
    if not bench.results:
        raise InputError("no plan was measured, so there is nothing to plot; see the table")
    names = list(dict.fromkeys((r.is_reference, r.is_peer, r.executor) for r in bench.results))
    figure = new_figure(height_inches=height_for_labels(len(names)))
    axes = figure.subplots()
    style_axes(axes)
    axes.set_yscale("log")
    name, places = _places(bench)
    _draw_lines(axes, bench, places, names)
    set_plain_numbers(axes)
    if name is None:
        axes.set_xticks(list(places.values()), list(places))
    else:
        set_powers_of_two(axes, sorted(places.values()))
        axes.set_xlabel(name)
    axes.set_ylabel("ms, the passes alone")
    plans = ", ".join(dict.fromkeys(case.plan for case in bench.cases))
    where = f"{bench.device}{settings_in_words(bench.settings)}"
    add_head(figure, plans, where, "Medians; a bar is from the fastest run to the slowest one.")
    save_figure(figure, path)


def _places(bench: PlanBench) -> tuple[str | None, dict[str, int]]:
    """Where each case is on the x axis, and the parameter that is drawn there, if any."""
    first = bench.cases[0].parameters
    varying = [
        name
        for name in first
        if len({case.parameters.get(name) for case in bench.cases}) == len(bench.cases) > 1
    ]
    for name in varying:
        values = {case.case: case.parameters.get(name) for case in bench.cases}
        places = {case: value for case, value in values.items() if type(value) is int and value > 0}
        if len(places) == len(bench.cases):
            return name, places
    return None, {case.case: number for number, case in enumerate(bench.cases)}


def _draw_lines(axes: Axes, bench: PlanBench, places: dict[str, int], names: list[_Kind]) -> None:
    from gpgpu_legacy.present.labels import Label, label_ends

    labels = []
    for number, kind in enumerate(names):
        is_reference, is_peer, name = kind
        results = [r for r in bench.results if (r.is_reference, r.is_peer, r.executor) == kind]
        results.sort(key=lambda result: places[result.case])
        ms = [_MS * result.seconds for result in results]
        below = [_MS * (result.seconds - result.spread[0]) for result in results]
        above = [_MS * (result.spread[1] - result.seconds) for result in results]
        label = f"{name}()" if is_reference else name
        colour = COLOURS[number % len(COLOURS)]
        axes.errorbar(
            [places[result.case] for result in results],
            ms,
            yerr=[below, above],
            marker=MARKS[number % len(MARKS)],
            linestyle="--" if is_reference or is_peer else "-",
            color=colour,
            linewidth=1.3 if is_reference or is_peer else 1.8,
            elinewidth=0.8,
            capsize=2.0,
            markersize=5.0,
            label=label,
        )
        labels.append(Label(places[results[-1].case], ms[-1], label, colour))
    label_ends(axes, labels)
