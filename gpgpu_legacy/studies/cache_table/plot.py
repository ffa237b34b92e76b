"""The cache table, drawn: one cache in colour, all others in grey."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    GREY,
    add_head,
    check_count,
    new_panels,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.studies.cache_table.defaults import BEFORE
from gpgpu_legacy.studies.cache_table.result import Judgement, Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpgpu_legacy.studies.cache_table.result import CacheTable

MOST_PANELS = 36
"""Panels of a picture, which has a size on the screen."""

_SMALL = 9.0  # points
_HOLDS, _OTHER = "#e4f1e5", "#c9c9c4"
_MARGIN = 1.6
_DARKEST, _LIGHTEST = 0.05, 0.62  # of a colour map: the least and the most fragments in flight


def draw_cache_table(table: CacheTable, path: Path) -> None:
    """The share of A and B from memory over b, as a multiple of that of the method before.

    A panel for each method, raster order and layout. One cache has colours, a line for each number
    of fragments in flight; the other caches are grey. Where a curve is below 1 the paper's claim
    holds. Raises InputError where there is nothing to draw, or too much to tell apart.
    """
    judged = table.judge()
    if not judged:
        raise InputError(
            f"no blocked method has complete rows beside {BEFORE}, so there is nothing to plot; "
            "see the table"
        )
    cache = _shown(judged)
    own = [judgement for judgement in judged if judgement.setting.cache == cache]
    by_number: dict[int, list[Judgement]] = {}
    for judgement in sorted(own, key=lambda judgement: judgement.setting.in_flight):
        by_number.setdefault(judgement.setting.in_flight, []).append(judgement)
    shares = [1.0, *(one.operand_share for judgement in judged for one in judgement.compared)]
    bounds = min(shares) / _MARGIN, max(shares) * _MARGIN
    panels: dict[tuple[str, str, str], list[Judgement]] = {}
    methods = list(dict.fromkeys(judgement.method for judgement in judged))
    for judgement in sorted(judged, key=lambda judgement: methods.index(judgement.method)):
        setting = judgement.setting
        kind = judgement.method, setting.raster, setting.layout
        panels.setdefault(kind, []).append(judgement)
    check_count(len(panels), MOST_PANELS, "methods, raster orders and layouts")
    colours = _colours(list(by_number))
    figure, places = new_panels(len(panels), 3, 2.0)
    for axes, ((method, raster, layout), alike) in zip(places.flat, panels.items(), strict=False):
        _draw_panel(axes, alike, cache, colours, bounds)
        axes.set_title(f"{method}\n{raster}, {layout}", fontsize=_SMALL, loc="left")
    for axes in places[-1]:
        axes.set_xlabel("b", fontsize=_SMALL)
    figure.supylabel(f"share of A and B from memory, over that of {BEFORE}", fontsize=10)
    has_printed = own[0].at(DEFAULT_BLOCK) is not None
    block = DEFAULT_BLOCK if has_printed else own[0].compared[-1].block
    dotted = f" Dotted: b = {DEFAULT_BLOCK}, the paper's choice." if has_printed else ""
    held = ", ".join(
        f"{_held(here)} of {len(here)} with {number} in flight"
        for number, here in by_number.items()
    )
    add_head(
        figure,
        "Do larger blocks reuse more of A and B?",
        f"Below 1, in green, the blocked method reuses more than {BEFORE}. At b = {block} with "
        f"{cache}, it does so in {held}; with all caches in {_held(judged)} of {len(judged)}.",
        f"By method, raster order and layout, at n = {table.size}. In colour: {cache}, each line "
        f"with its number of fragments in flight. Grey: the other caches.{dotted}",
    )
    save_figure(figure, path)


def _shown(judged: Sequence[Judgement]) -> str:
    """The cache to show in colour: that in the middle, by how often the claim holds."""
    by_cache: dict[str, list[Judgement]] = {}
    for judgement in judged:
        by_cache.setdefault(judgement.setting.cache, []).append(judgement)
    order = sorted(by_cache, key=lambda cache: _held(by_cache[cache]))
    return order[len(order) // 2]


def _held(judged: Sequence[Judgement]) -> int:
    """In how many the blocked method reuses more at the paper's block, or at the largest."""
    return sum(
        Measure.MORE_REUSE.sign(judgement.at(DEFAULT_BLOCK) or judgement.compared[-1]) > 0
        for judgement in judged
    )


def _colours(numbers: Sequence[int]) -> dict[int, str]:
    """A colour for each number of fragments in flight."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    step = (_LIGHTEST - _DARKEST) / max(1, len(numbers) - 1)
    return {n: to_hex(colormaps["plasma"](_DARKEST + i * step)) for i, n in enumerate(numbers)}


def _draw_panel(
    axes: Axes,
    judged: Sequence[Judgement],
    cache: str,
    colours: dict[int, str],
    bounds: tuple[float, float],
) -> None:
    from gpgpu_legacy.present.labels import Label, label_ends

    blocks = sorted({compared.block for one in judged for compared in one.compared})
    style_axes(axes)
    axes.set_yscale("log")
    axes.axhspan(bounds[0], 1.0, color=_HOLDS, linewidth=0)
    axes.axhline(1.0, color=GREY, linewidth=0.8)
    if DEFAULT_BLOCK in blocks:
        axes.axvline(DEFAULT_BLOCK, color=GREY, linewidth=0.8, linestyle=":")
    ends = []
    for judgement in sorted(judged, key=lambda judgement: judgement.setting.cache == cache):
        points = [(compared.block, compared.operand_share) for compared in judgement.compared]
        if judgement.setting.cache != cache:
            axes.plot(*zip(*points, strict=True), color=_OTHER, linewidth=0.9)
            continue
        number = judgement.setting.in_flight
        colour = colours[number]
        axes.plot(*zip(*points, strict=True), "o-", color=colour, linewidth=1.5, markersize=2.5)
        ends.append(Label(*points[-1], str(number), colour))
    set_powers_of_two(axes, blocks)
    axes.set_ylim(*bounds)
    set_plain_numbers(axes)
    axes.tick_params(labelsize=_SMALL)
    label_ends(axes, ends)
