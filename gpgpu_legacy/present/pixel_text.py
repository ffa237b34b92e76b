"""Text in figures, drawn with fonts that the package contains as pixels.

A font file would be rasterised by whichever FreeType is installed, and each version makes slightly
different pixels. The sheets in fonts/ are pixels already, in Pillow's own bitmap font format, so
that a figure is the same image everywhere and a test can compare it exactly.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from importlib.resources import as_file, files

from PIL import ImageDraw, ImageFont

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


def wrap(text: str, font: Font, width: int) -> list[str]:
    """Break a text at spaces into lines of at most `width` pixels.

    A word that is wider than that has a line of its own.
    """
    lines: list[str] = []
    for word in text.split():
        if lines and font.width(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines
