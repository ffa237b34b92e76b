"""Heat maps of hits, drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpgpu_legacy.cache.heat_map import HeatMap
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.plot import WIDTH, add_head, new_figure, save_figure
from gpgpu_legacy.studies.cache_sweep.heat_map import ANCHORS, NO_READS, shown_ratios

_MAP_WIDTH = 6.4  # inches, without axes and scale
_LEAST, _MOST, _FRAME = 1.2, 6.4, 0.7  # inches of its height, and of what is below it
_TICKS = 9  # at most, on an axis
_LONG = 8  # a map that is so many times as long as wide is stretched


def draw_heat_map(heat: HeatMap, caption: str, path: Path) -> None:
    """Draw a heat map with its scale: row 0 at the bottom, each place a square.

    The scale runs from the lowest to the highest ratio of the map. Where a row or column has more
    than 1024 places, each square has several of them. Raises InputError where the file cannot be
    written.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ratio, side = shown_ratios(heat)
    known = ratio[~np.isnan(ratio)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    low = low if low < high else high - 0.01  # one colour, that of the highest
    colours = LinearSegmentedColormap.from_list("hits", list(map(_hex, ANCHORS)))
    colours.set_bad(_hex(NO_READS))
    rows, columns = ratio.shape
    height = min(max(_MAP_WIDTH * rows / columns, _LEAST), _MOST)
    figure = new_figure(WIDTH, height + _FRAME)
    axes = figure.subplots()
    is_long = max(rows, columns) > _LONG * min(rows, columns)
    image = axes.imshow(
        np.ma.masked_invalid(ratio), colours, aspect="auto" if is_long else "equal",
        interpolation="nearest", origin="lower", vmin=low, vmax=high,
        extent=(-0.5, side * columns - 0.5, -0.5, side * rows - 0.5),
    )  # fmt: skip
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(_TICKS, integer=True))
    axes.set_xlabel("column (x)")
    axes.set_ylabel("row (y)")
    bar = figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02)
    bar.set_label("reads that hit")
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g} %"))
    add_head(figure, "Where the reads hit", caption)
    save_figure(figure, path)


def _hex(colour: Colour) -> str:
    return "#" + "".join(f"{channel:02x}" for channel in colour)
