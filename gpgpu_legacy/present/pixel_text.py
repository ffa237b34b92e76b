"""Text in figures, drawn with fonts that the package contains as pixels.

A font file would be rasterised by whichever FreeType is installed, and each version makes slightly
different pixels. The sheets in fonts/ are pixels already, in Pillow's own bitmap font format, so
that a figure is the same image everywhere and a test can compare it exactly.

The module also makes pictures with a value scale and lines of text below them. All pictures share a
few colours for their surroundings, so that an animation's palette has room for the colours of the
picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from gpgpu_legacy.present.colours import (
    RGB,
    Colour,
    ColourScale,
    mixed,
    short_number,
)

BEYOND_LATIN_1 = "≥≤≈−–—…→"
"""Characters outside Latin-1 that have a glyph. A bitmap font has one byte for a character; these
take the bytes from 0x80 on, which are control characters in Latin-1."""

_TO_BYTES = str.maketrans({c: chr(0x80 + i) for i, c in enumerate(BEYOND_LATIN_1)})


class Font(Enum):
    """The fonts, by the names of their sheets: a face and a size in pixels."""

    SMALL = "sans-12"
    BODY = "sans-18"
    BODY_BOLD = "sans-bold-18"
    TITLE = "sans-bold-26"

    @property
    def line_height(self) -> int:
        """Pixels from one line to the next."""
        return _load(self).getbbox("A")[3]

    def width(self, text: str) -> int:
        """The width of a line of text, in pixels."""
        return round(_load(self).getlength(text.translate(_TO_BYTES)))


class Align(Enum):
    """The part of a line's width that is left of the x at which the line is drawn."""

    LEFT = 0.0
    CENTRE = 0.5
    RIGHT = 1.0


@cache
def _load(font: Font) -> ImageFont.ImageFont:
    sheet = files("gpgpu_legacy.present.fonts").joinpath(f"{font.value}.pil")
    with as_file(sheet) as path:
        return ImageFont.load(str(path))


def draw_line(
    draw: ImageDraw.ImageDraw,
    x: int,
    y: int,
    text: str,
    font: Font = Font.BODY,
    *,
    align: Align = Align.LEFT,
    fill: tuple[int, int, int] = (0, 0, 0),
) -> None:
    """Draw one line with its top at y. Its characters are in Latin-1 or BEYOND_LATIN_1."""
    left = x - int(font.width(text) * align.value)
    draw.text((left, y), text.translate(_TO_BYTES), fill=fill, font=_load(font))


MARGIN = 16
"""Pixels around a picture."""

LEAST_WIDTH, MOST_WIDTH = 320, 720

_PAPER: Colour = (252, 252, 249)
_INK: Colour = (32, 33, 36)
_FRAME: Colour = (154, 154, 148)
_BAR_HEIGHT, _SPACE = 12, 8
_GREYS = 8  # of the edges of letters


def width_of(lines: Iterable[str]) -> int:
    """The width that lines of text need with their margins, at most MOST_WIDTH."""
    return min(2 * MARGIN + max(map(Font.BODY_BOLD.width, map(_known, lines))), MOST_WIDTH)


def captioned(
    picture: RGB,
    lines: Sequence[str],
    scale: ColourScale | None,
    *,
    has_bar: bool,
    least_width: int,
) -> RGB:
    """A picture in a thin frame, with its value scale and lines of text below, the first in bold.

    A line that is too long is cut. scale: None for a picture without one. has_bar: whether to leave
    room for a scale, which other pictures of the animation may need. least_width: in pixels.
    """
    rows, columns, _ = picture.shape
    width = max(columns + 2 * MARGIN, LEAST_WIDTH, least_width)
    below = MARGIN + rows + _SPACE
    bar = _BAR_HEIGHT + Font.BODY.line_height + _SPACE if has_bar else 0
    height = below + bar + len(lines) * Font.BODY.line_height + MARGIN // 2
    text = Image.new("RGB", (width, height), (255, 255, 255))
    draw = ImageDraw.Draw(text)
    for number, line in enumerate(lines):
        font = Font.BODY if number else Font.BODY_BOLD
        y = below + bar + number * Font.BODY.line_height
        draw_line(draw, MARGIN, y, _cut(line, font, width - 2 * MARGIN), font)
    if scale:
        _draw_ends(draw, below + _BAR_HEIGHT, width, scale)
    steps = np.round(np.asarray(text)[..., 0] / 255 * (_GREYS - 1)) / (_GREYS - 1)
    canvas = mixed(steps, (_INK, _PAPER))
    left = (width - columns) // 2
    canvas[MARGIN - 1 : MARGIN + rows + 1, left - 1 : left + columns + 1] = _FRAME
    canvas[MARGIN : MARGIN + rows, left : left + columns] = picture
    if scale:
        values = np.linspace(scale.low, scale.high, width - 2 * MARGIN)
        canvas[below : below + _BAR_HEIGHT, MARGIN:-MARGIN] = scale.colours(values)
    return canvas


def _draw_ends(draw: ImageDraw.ImageDraw, y: int, width: int, scale: ColourScale) -> None:
    draw_line(draw, MARGIN, y, short_number(scale.low))
    draw_line(draw, width - MARGIN, y, short_number(scale.high), align=Align.RIGHT)
    if scale.low < 0 < scale.high:
        zero = MARGIN + round((width - 2 * MARGIN) * -scale.low / (scale.high - scale.low))
        draw_line(draw, zero, y, "0", align=Align.CENTRE)


def _cut(line: str, font: Font, width: int) -> str:
    """As much of a line as fits."""
    cut = known = _known(line)
    while font.width(cut) > width:
        known = known[:-1]
        cut = f"{known}…"
    return cut


def _known(line: str) -> str:
    """The line with a ? for characters that the font lacks."""
    return "".join(c if ord(c) < 256 or c in BEYOND_LATIN_1 else "?" for c in line)
