"""The cache table, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    GREY,
    LINES,
    MARKS,
    check_count,
    new_figure,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.studies.cache_table.judgement import Judgement, judge
from gpgpu_legacy.studies.cache_table.model import BEFORE, CacheTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_PANELS = 36
"""Panels of a picture, which has a size on the screen."""

MOST_LINES = 12
"""Numbers of fragments in flight, and methods, each of which has an entry in the legend."""

_HOLDS = "#e4f1e5"
_MARGIN = 1.6
_DARKEST, _LIGHTEST = 0.05, 0.8  # of a colour map: the least and the most fragments in flight


def draw_cache_table(table: CacheTable, path: Path) -> None:
    """The share of A and B from memory over b, as a multiple of that of the method before.

    A panel for each cache (across) and each raster order and layout (down). A colour a number of
    fragments in flight, a mark and a kind of line a method. Where a curve is below 1 the paper's
    claim holds. Raises InputError where there is nothing to draw, or too much to tell apart.
    """
    judged = judge(table)
    if not judged:
        raise InputError(
            f"no blocked method has complete rows beside {BEFORE}, so there is nothing to plot; "
            "see the table"
        )
    drawn = [compared for judgement in judged for compared in judgement.compared]
    blocks = sorted({compared.block for compared in drawn})
    shares = [1.0, *(compared.operand_share for compared in drawn)]
    bounds = min(shares) / _MARGIN, max(shares) * _MARGIN
    caches = list(dict.fromkeys(item.setting.cache for item in judged))
    places = list(dict.fromkeys(_place(item) for item in judged))
    check_count(len(caches) * len(places), MOST_PANELS, "caches, raster orders and layouts")
    styles = _styles(judged)
    figure = new_figure(max(6.5, 1.0 + 2.2 * len(caches)), max(4.4, 1.2 + 1.55 * len(places)))
    panels = figure.subplots(len(places), len(caches), sharex=True, sharey=True, squeeze=False)
    for i, place in enumerate(places):
        for j, cache in enumerate(caches):
            own = [one for one in judged if (_place(one), one.setting.cache) == (place, cache)]
            _draw_panel(panels[i][j], own, styles, blocks, bounds)
        panels[i][0].set_ylabel(", ".join(place), fontsize=8)
    for j, cache in enumerate(caches):
        panels[0][j].set_title(cache, fontsize=9)
        panels[-1][j].set_xlabel("b", fontsize=8)
    handles = _legend(styles)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    dotted = f"; dotted: b = {DEFAULT_BLOCK}, the paper's choice" if DEFAULT_BLOCK in blocks else ""
    figure.suptitle(
        f"Share of A and B from memory over that of {BEFORE} with as many fragments in flight, at "
        f"n = {table.size};\nby raster order and layout (down) and cache (across). Below 1 the "
        f"blocked method is more coherent{dotted}.",
        fontsize=10,
    )
    save_figure(figure, path)


def _place(judgement: Judgement) -> tuple[str, str]:
    return judgement.setting.raster, judgement.setting.layout


def _styles(judged: Sequence[Judgement]) -> dict[tuple[int, str], dict[str, Any]]:
    """The style of each line, by the number in flight and the method."""
    from matplotlib import colormaps

    numbers = sorted({judgement.setting.in_flight for judgement in judged})
    methods = list(dict.fromkeys(judgement.method for judgement in judged))
    check_count(len(numbers), MOST_LINES, "numbers of fragments in flight")
    check_count(len(methods), MOST_LINES, "methods")
    step = (_LIGHTEST - _DARKEST) / max(1, len(numbers) - 1)
    return {
        (number, method): {
            "color": colormaps["plasma"](_DARKEST + i * step),
            "linestyle": LINES[j % len(LINES)],
            "marker": MARKS[j % len(MARKS)],
            "markersize": 2.5,
            "linewidth": 1.2,
        }
        for i, number in enumerate(numbers)
        for j, method in enumerate(methods)
    }


def _draw_panel(
    axes: Axes,
    judged: Sequence[Judgement],
    styles: dict[tuple[int, str], dict[str, Any]],
    blocks: Sequence[int],
    bounds: tuple[float, float],
) -> None:
    style_axes(axes)
    axes.set_yscale("log")
    axes.axhspan(bounds[0], 1.0, color=_HOLDS, linewidth=0)
    axes.axhline(1.0, color=GREY, linewidth=0.8)
    if DEFAULT_BLOCK in blocks:
        axes.axvline(DEFAULT_BLOCK, color=GREY, linewidth=0.8, linestyle=":")
    for judgement in judged:
        points = [(compared.block, compared.operand_share) for compared in judgement.compared]
        style = styles[judgement.setting.in_flight, judgement.method]
        axes.plot(*zip(*points, strict=True), **style)
    set_powers_of_two(axes, blocks)
    set_plain_numbers(axes)
    axes.set_ylim(*bounds)
    axes.tick_params(labelsize=7)


def _legend(styles: dict[tuple[int, str], dict[str, Any]]) -> list[Any]:
    from matplotlib.lines import Line2D

    (first_number, first_method), *_ = styles
    numbers = [
        Line2D([], [], color=style["color"], label=f"{number} in flight")
        for (number, method), style in styles.items()
        if method == first_method
    ]
    methods = [
        Line2D([], [], **{**style, "color": GREY}, label=method)
        for (number, method), style in styles.items()
        if number == first_number
    ]
    return [*numbers, *methods]
