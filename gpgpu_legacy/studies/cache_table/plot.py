"""The cache table, drawn: one cache in colour, all others in grey."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    GREY,
    add_head,
    check_count,
    new_figure,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.studies.cache_table.defaults import BEFORE
from gpgpu_legacy.studies.cache_table.judgement import Judgement, Measure, judge

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpgpu_legacy.studies.cache_table.result import CacheTable

MOST_PANELS = 36
"""Panels of a picture, which has a size on the screen."""

MOST_LINES = 12
"""Numbers of fragments in flight, each of which has a label at its line."""

_COLUMNS = 3
_PANEL_HEIGHT, _FRAME = 2.0, 0.4  # inches
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
    judged = judge(table)
    if not judged:
        raise InputError(
            f"no blocked method has complete rows beside {BEFORE}, so there is nothing to plot; "
            "see the table"
        )
    cache = _shown(judged)
    drawn = [compared for judgement in judged for compared in judgement.compared]
    blocks = sorted({compared.block for compared in drawn})
    shares = [1.0, *(compared.operand_share for compared in drawn)]
    bounds = min(shares) / _MARGIN, max(shares) * _MARGIN
    methods = list(dict.fromkeys(judgement.method for judgement in judged))
    kinds = sorted(dict.fromkeys(map(_kind, judged)), key=lambda kind: methods.index(kind[0]))
    check_count(len(kinds), MOST_PANELS, "methods, raster orders and layouts")
    colours = _colours(judged)
    columns = min(_COLUMNS, len(kinds))
    lines = -(-len(kinds) // columns)
    figure = new_figure(height_inches=_PANEL_HEIGHT * lines + _FRAME)
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for number, axes in enumerate(panels.flat):
        if number >= len(kinds):
            axes.set_axis_off()
            continue
        own = [judgement for judgement in judged if _kind(judgement) == kinds[number]]
        _draw_panel(axes, own, cache, colours, bounds)
        method, raster, layout = kinds[number]
        axes.set_title(f"{method}\n{raster}, {layout}", fontsize=_SMALL, loc="left")
    for axes in panels[-1]:
        axes.set_xlabel("b", fontsize=_SMALL)
    figure.supylabel(f"share of A and B from memory, over that of {BEFORE}", fontsize=10)
    dotted = f" Dotted: b = {DEFAULT_BLOCK}, the paper's choice." if DEFAULT_BLOCK in blocks else ""
    add_head(
        figure,
        "Do larger blocks reuse more of A and B?",
        *_sentences(judged, cache),
        f"By method, raster order and layout, at n = {table.size}. In colour: {cache}, each line "
        f"with its number of fragments in flight. Grey: the other caches.{dotted}",
    )
    save_figure(figure, path)


def _shown(judged: Sequence[Judgement]) -> str:
    """The cache to show in colour: that in the middle, by how often the claim holds."""
    caches = dict.fromkeys(judgement.setting.cache for judgement in judged)
    order = sorted(caches, key=lambda cache: _held(_of_cache(judged, cache)))
    return order[len(order) // 2]


def _of_cache(judged: Sequence[Judgement], cache: str) -> list[Judgement]:
    return [judgement for judgement in judged if judgement.setting.cache == cache]


def _held(judged: Sequence[Judgement]) -> int:
    """In how many settings the blocked method reuses more, at the paper's block."""
    return sum(_holds(judgement) for judgement in judged)


def _holds(judgement: Judgement) -> bool:
    """Whether the blocked method reuses more at the paper's block, or at the largest without it."""
    compared = judgement.at(DEFAULT_BLOCK) or judgement.compared[-1]
    return Measure.MORE_REUSE.sign(compared) > 0


def _sentences(judged: Sequence[Judgement], cache: str) -> Iterator[str]:
    """What to see: where the blocked methods reuse more, by the number in flight."""
    own = _of_cache(judged, cache)
    numbers = sorted({judgement.setting.in_flight for judgement in own})
    parts = []
    for number in numbers:
        here = [judgement for judgement in own if judgement.setting.in_flight == number]
        parts.append(f"{_held(here)} of {len(here)} with {number} in flight")
    block = DEFAULT_BLOCK if own[0].at(DEFAULT_BLOCK) else own[0].compared[-1].block
    yield (
        f"Below 1, in green, the blocked method reuses more than {BEFORE}. At b = {block} with "
        f"{cache}, it does so in {', '.join(parts)}; with all caches in {_held(judged)} of "
        f"{len(judged)}."
    )


def _kind(judgement: Judgement) -> tuple[str, str, str]:
    return judgement.method, judgement.setting.raster, judgement.setting.layout


def _colours(judged: Sequence[Judgement]) -> dict[int, str]:
    """A colour for each number of fragments in flight."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    numbers = sorted({judgement.setting.in_flight for judgement in judged})
    check_count(len(numbers), MOST_LINES, "numbers of fragments in flight")
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
    label_ends(axes, ends, _SMALL)
