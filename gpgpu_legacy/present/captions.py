"""Pictures with a value scale and lines of text below them, pixel by pixel.

All pictures share a few colours for their surroundings, so that an animation's palette has room for
the colours of the picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from gpgpu_legacy.present.colours import (
    RGB,
    Colour,
    ColourScale,
    ScaleKind,
    mixed,
    short_number,
)
from gpgpu_legacy.present.pixel_text import BEYOND_LATIN_1, Align, Font, draw_line

MARGIN = 16
"""Pixels around a picture."""

LEAST_WIDTH, MOST_WIDTH = 320, 720

_PAPER: Colour = (252, 252, 249)
_INK: Colour = (32, 33, 36)
_FRAME: Colour = (154, 154, 148)
_BAR_HEIGHT, _SPACE = 12, 8
_GREYS = 8  # of the edges of letters


def needs_bar(scale: ColourScale | None) -> bool:
    """Whether to draw a scale: a scale of two numbers needs none."""
    return scale is not None and scale.kind is not ScaleKind.TWO


def width_of(lines: Iterable[str]) -> int:
    """The width that lines of text need with their margins, at most MOST_WIDTH."""
    return min(2 * MARGIN + max(map(Font.BODY_BOLD.width, map(_known, lines))), MOST_WIDTH)


def captioned(
    picture: RGB,
    lines: Sequence[str],
    scale: ColourScale | None,
    *,
    has_bar: bool,
    least_width: int = 0,
) -> RGB:
    """A picture in a thin frame, with its value scale and lines of text below, the first in bold.

    A line that is too long is cut. scale: None for a picture without one. has_bar: whether to leave
    room for a scale, which other pictures of the animation may need. least_width: in pixels.
    """
    rows, columns, _ = picture.shape
    width = max(columns + 2 * MARGIN, LEAST_WIDTH, least_width)
    shown = scale if needs_bar(scale) else None
    below = MARGIN + rows + _SPACE
    bar = _BAR_HEIGHT + Font.BODY.line_height + _SPACE if has_bar else 0
    height = below + bar + len(lines) * Font.BODY.line_height + MARGIN // 2
    text = Image.new("RGB", (width, height), (255, 255, 255))
    draw = ImageDraw.Draw(text)
    for number, line in enumerate(lines):
        font = Font.BODY if number else Font.BODY_BOLD
        y = below + bar + number * Font.BODY.line_height
        draw_line(draw, MARGIN, y, _cut(line, font, width - 2 * MARGIN), font)
    if shown:
        _draw_ends(draw, below + _BAR_HEIGHT, width, shown)
    canvas = _inked(np.asarray(text)[..., 0])
    left = (width - columns) // 2
    canvas[MARGIN - 1 : MARGIN + rows + 1, left - 1 : left + columns + 1] = _FRAME
    canvas[MARGIN : MARGIN + rows, left : left + columns] = picture
    if shown:
        steps = np.linspace(shown.low, shown.high, width - 2 * MARGIN)
        canvas[below : below + _BAR_HEIGHT, MARGIN:-MARGIN] = shown.colours(steps)
    return canvas


def _draw_ends(draw: ImageDraw.ImageDraw, y: int, width: int, scale: ColourScale) -> None:
    draw_line(draw, MARGIN, y, short_number(scale.low))
    draw_line(draw, width - MARGIN, y, short_number(scale.high), align=Align.RIGHT)
    if scale.low < 0 < scale.high:
        zero = MARGIN + round((width - 2 * MARGIN) * -scale.low / (scale.high - scale.low))
        draw_line(draw, zero, y, "0", align=Align.CENTRE)


def _cut(line: str, font: Font, width: int) -> str:
    """As much of a line as fits."""
    known = _known(line)
    if font.width(known) <= width:
        return known
    fits = next(n for n in range(len(known), -1, -1) if font.width(f"{known[:n]}…") <= width)
    return f"{known[:fits]}…"


def _known(line: str) -> str:
    """The line with a ? for characters that the font lacks."""
    return "".join(c if ord(c) < 256 or c in BEYOND_LATIN_1 else "?" for c in line)


def _inked(white: NDArray[np.uint8]) -> RGB:
    """A text mask as an image in a few greys, from ink to paper."""
    steps = np.round(white / 255 * (_GREYS - 1)) / (_GREYS - 1)
    return mixed(steps, (_INK, _PAPER))
