"""Heat maps: where the reads of a plan hit in a cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpgpu_legacy.present.colours import hex_of
from gpgpu_legacy.present.grid import plain
from gpgpu_legacy.present.plot import WIDTH, new_figure, save_figure

if TYPE_CHECKING:
    from gpgpu_legacy.cache.run import HeatMap

NO_READS = (200, 200, 200)
ANCHORS = ((59, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191))
"""Colours of the scale from the lowest hit ratio to the highest; between two, halves are mixed."""

_MAP_WIDTH = 6.4  # inches, without axes and scale
_LEAST, _MOST, _FRAME = 1.2, 6.4, 0.7  # inches of its height, and of what is below it
_TICKS = 9  # at most, on an axis
_LONG = 8  # a map this many times as long as wide is stretched


def heat_map_caption(heat: HeatMap, title: str) -> str:
    """The subject of a heat map, for the text above it. title: of the run."""
    rows, columns = heat.reads.shape
    return (
        f"Reads that hit, of the fragments of a rectangle of {columns}×{rows}, row 0 lowest: "
        f"{title}. {plain(int(heat.hits.sum()))} of {plain(int(heat.reads.sum()))} reads hit. "
        "Grey: no reads."
    )


def draw_heat_map(heat: HeatMap, caption: str, path: Path) -> None:
    """Draw a heat map with its scale, from the lowest to the highest ratio: row 0 at the bottom.

    Raises InputError if the file cannot be written.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import PercentFormatter

    ratio = np.ma.masked_array(heat.hits, heat.reads == 0) / np.maximum(heat.reads, 1)
    low, high = (float(ratio.min()), float(ratio.max())) if ratio.count() else (0.0, 1.0)
    low = low if low < high else high - 0.01  # one colour, that of the highest
    colours = LinearSegmentedColormap.from_list("hits", list(map(hex_of, ANCHORS)))
    colours.set_bad(hex_of(NO_READS))
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
    save_figure(figure, path, "Where the reads hit", caption)
