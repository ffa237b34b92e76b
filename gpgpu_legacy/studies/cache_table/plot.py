"""The cache table, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    GREY,
    LINES,
    MARKS,
    check_count,
    new_figure,
    save_figure,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.studies.cache_table.model import BEFORE, BLOCKED, CacheTable, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_PANELS = 36
"""Panels of a picture, which has a size on the screen."""

MOST_CACHES = 50
"""Caches, and methods, each of which has an entry in the legend."""

_METHOD_COLOURS = dict(zip((BEFORE, *BLOCKED), ("#202124", "#b3261e", "#1a56a8"), strict=True))


def draw_cache_table(table: CacheTable, path: Path) -> None:
    """Bytes from memory over b: a panel for each raster order and layout.

    A colour a method, a mark and a kind of line a cache; the method before the paper has no b, and
    is level. Raises InputError where there is nothing to draw.
    """
    blocks = sorted({row.block for row in table.rows if row.block is not None})
    if not blocks:
        raise InputError("no blocked method was run, so there is nothing to plot; see the table")
    rasters = list(dict.fromkeys(row.setting.raster for row in table.rows))
    layouts = list(dict.fromkeys(row.setting.layout for row in table.rows))
    check_count(len(rasters) * len(layouts), MOST_PANELS, "raster orders and layouts")
    check_count(len(_caches(table)), MOST_CACHES, "caches")
    check_count(len(dict.fromkeys(row.method for row in table.rows)), MOST_CACHES, "methods")
    width, height = 1.6 + 3.6 * len(rasters), 1.2 + 3.2 * len(layouts)
    figure = new_figure(max(width, 6.5), max(height, 4.4))
    panels = figure.subplots(len(layouts), len(rasters), sharex=True, sharey=True, squeeze=False)
    for i, layout in enumerate(layouts):
        for j, raster in enumerate(rasters):
            axes = panels[i][j]
            _draw_place(axes, table, raster, layout, blocks)
            axes.set_title(f"{raster}, {layout}", loc="left", fontsize=9)
            if j == 0:
                axes.set_ylabel("bytes from memory")
            if i == len(layouts) - 1:
                axes.set_xlabel("b")
    handles = _legend(table)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.suptitle(
        f"Bytes from memory for products at n = {table.size} ({table.accumulate.value}), by raster "
        "order and texture layout",
        fontsize=10,
    )
    save_figure(figure, path)


def _caches(table: CacheTable) -> list[str]:
    return list(dict.fromkeys(row.setting.cache for row in table.rows))


def _style(table: CacheTable, method: str, cache: str) -> dict[str, Any]:
    number = _caches(table).index(cache)
    return {
        "color": _METHOD_COLOURS.get(method, GREY),
        "linestyle": LINES[number % len(LINES)],
        "marker": MARKS[number % len(MARKS)],
        "markersize": 3.5,
        "linewidth": 1.2,
    }


def _draw_place(
    axes: Axes, table: CacheTable, raster: str, layout: str, blocks: Sequence[int]
) -> None:
    curves: dict[tuple[str, str], list[Row]] = {}
    for row in table.rows:
        if (row.setting.raster, row.setting.layout) == (raster, layout):
            curves.setdefault((row.method, row.setting.cache), []).append(row)
    for (method, cache), rows in curves.items():
        points = [
            (block, row.bytes_from_memory)
            for row in rows
            for block in ((blocks[0], blocks[-1]) if row.block is None else (row.block,))
        ]
        axes.plot(*zip(*sorted(points), strict=True), **_style(table, method, cache))
    style_axes(axes)
    set_powers_of_two(axes, blocks)
    axes.set_yscale("log")


def _legend(table: CacheTable) -> list[Any]:
    from matplotlib.lines import Line2D

    methods = dict.fromkeys(row.method for row in table.rows)
    colours = [Line2D([], [], color=_METHOD_COLOURS.get(m, GREY), label=m) for m in methods]
    caches = [
        Line2D([], [], **{**_style(table, BLOCKED[0], cache), "color": GREY}, label=cache)
        for cache in _caches(table)
    ]
    return [*colours, *caches]
