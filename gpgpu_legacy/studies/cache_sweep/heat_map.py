"""Heat maps of hits, drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from gpgpu_legacy.cache.heat_map import HeatMap
from gpgpu_legacy.present.colours import mixed
from gpgpu_legacy.present.pictures import save_png
from gpgpu_legacy.present.pixel_text import Font, draw_line, wrap

MARGIN = 20
_LONGEST_SIDE = 1024  # pixels; of larger maps, a pixel is of several places
_LEAST_SIDE = 256  # pixels; of smaller maps, a place is several pixels wide
_SCALE_WIDTH, _SCALE_TEXT, _SCALE_HEIGHT = 24, 90, 256
NO_READS = (200, 200, 200)
ANCHORS = ((59, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191))
"""Colours of the scale from the lowest hit ratio to the highest; between two, halves are mixed."""

RGB = NDArray[np.uint8]


def draw_heat_map(heat: HeatMap, caption: str, path: Path) -> None:
    """Draw a heat map as a .png with its scale: row 0 at the bottom, each place a square.

    The scale runs from the lowest to the highest ratio of the map. Where a row or
    column has more than 1024 places, each pixel shows a square of places.
    """
    ratio = _shrunk(heat)
    known = ratio[~np.isnan(ratio)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    zoom = max(1, -(-_LEAST_SIDE // max(ratio.shape)))
    pixels = coloured(ratio, low, high)[::-1].repeat(zoom, axis=0).repeat(zoom, axis=1)
    height, width = pixels.shape[:2]
    right = MARGIN + width + MARGIN
    wide = max(right + _SCALE_WIDTH + _SCALE_TEXT + MARGIN, 640)
    words = wrap(caption, Font.BODY, wide - 2 * MARGIN)
    tall = max(height, _SCALE_HEIGHT)
    size = (wide, 3 * MARGIN + tall + Font.BODY.line_height * len(words))
    image = Image.new("RGB", size, (252, 252, 249))
    image.paste(Image.fromarray(pixels), (MARGIN, MARGIN))
    steps = np.linspace(high, low, _SCALE_HEIGHT)[:, None].repeat(_SCALE_WIDTH, axis=1)
    image.paste(Image.fromarray(coloured(steps, low, high)), (right, MARGIN))
    draw = ImageDraw.Draw(image)
    half = Font.BODY.line_height // 2
    for part in (0.0, 0.5, 1.0):
        y = MARGIN + round(part * (_SCALE_HEIGHT - 1))
        value = high - part * (high - low)
        draw_line(draw, right + _SCALE_WIDTH + 8, y - half, f"{100 * value:.2f} %")
    for number, line in enumerate(words):
        draw_line(draw, MARGIN, 2 * MARGIN + tall + number * Font.BODY.line_height, line)
    save_png(image, path)


def _shrunk(heat: HeatMap) -> NDArray[np.float64]:
    """Hits over reads, of squares of places where there are too many of these."""
    side = -(-max(heat.reads.shape) // _LONGEST_SIDE)
    reads, hits = (_sums(counts, side) for counts in (heat.reads, heat.hits))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: NDArray[np.float64] = hits / reads
    return ratio


def _sums(values: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    rows, columns = (np.arange(0, length, side) for length in values.shape)
    summed: NDArray[np.int64] = np.add.reduceat(np.add.reduceat(values, rows, 0), columns, 1)
    return summed


def coloured(ratio: NDArray[np.float64], low: float, high: float) -> RGB:
    """Ratios as colours of the scale from low to high, uint8 [rows, columns, 3]."""
    part = (np.nan_to_num(ratio) - low) / (high - low) if high > low else np.ones(ratio.shape)
    colours = mixed(part, ANCHORS)
    colours[np.isnan(ratio)] = NO_READS
    return colours
