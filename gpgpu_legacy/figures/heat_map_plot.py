"""Heat maps: where the reads of a plan hit in a cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.present.colours import hex_of
from gpgpu_legacy.present.grid import plain
from gpgpu_legacy.present.plot import WIDTH, add_head, new_figure, save_figure

if TYPE_CHECKING:
    from gpgpu_legacy.cache.run import HeatMap

LONGEST_SIDE = 1024
"""Squares of a side; of larger maps, a square has several places."""

NO_READS = (200, 200, 200)
ANCHORS = ((59, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191))
"""Colours of the scale from the lowest hit ratio to the highest; between two, halves are mixed."""

_MAP_WIDTH = 6.4  # inches, without axes and scale
_LEAST, _MOST, _FRAME = 1.2, 6.4, 0.7  # inches of its height, and of what is below it
_TICKS = 9  # at most, on an axis
_LONG = 8  # a map this many times as long as wide is stretched


def _sums(values: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    rows, columns = (np.arange(0, length, side) for length in values.shape)
    summed: NDArray[np.int64] = np.add.reduceat(np.add.reduceat(values, rows, 0), columns, 1)
    return summed


def heat_map_caption(heat: HeatMap, title: str) -> str:
    """The subject of a heat map, for the text above it. title: of the run."""
    rows, columns = heat.reads.shape
    return (
        f"Reads that hit, of the fragments of a rectangle of {columns}×{rows}, row 0 lowest: "
        f"{title}. {plain(int(heat.hits.sum()))} of {plain(int(heat.reads.sum()))} reads hit. "
        "Grey: no reads."
    )


def draw_heat_map(heat: HeatMap, caption: str, path: Path) -> None:
    """Draw a heat map with its scale: row 0 at the bottom, each place a square.

    The scale runs from the lowest to the highest ratio of the map. If a row or column has more than
    1024 places, each square has several of them. Raises InputError if the file cannot be written.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    side = -(-max(heat.reads.shape) // LONGEST_SIDE)  # of a square, in places
    reads, hits = (_sums(counts, side) for counts in (heat.reads, heat.hits))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: NDArray[np.float64] = hits / reads
    known = ratio[~np.isnan(ratio)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    low = low if low < high else high - 0.01  # one colour, that of the highest
    colours = LinearSegmentedColormap.from_list("hits", list(map(hex_of, ANCHORS)))
    colours.set_bad(hex_of(NO_READS))
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
