"""What pictures in pixels share: their colours, their lengths, and lines of text on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PIL import Image, ImageDraw

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import Write, write_whole
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.pictures import png_of
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line

PAPER: Colour = (246, 246, 246)
INK: Colour = (28, 28, 28)
SOFT_INK: Colour = (92, 92, 92)
RULE: Colour = (205, 205, 205)
MARK: Colour = (226, 92, 12)

MARGIN = 36  # pixels
SPACE = 12


def write_picture(
    path: Path, still: Callable[[], Image.Image], moving: Callable[[], Write]
) -> None:
    """Write a picture as a .png, or its animation as a .gif; InputError for another suffix."""
    ways = {".png": lambda: png_of(still()), ".gif": moving}
    if path.suffix.lower() not in ways:
        raise InputError(f"{path} should end in .png, or in .gif for an animation")
    write_whole(path, ways[path.suffix.lower()]())


def draw_centred(
    draw: ImageDraw.ImageDraw, x: int, y: int, text: str, font: Font = Font.BODY,
    *, fill: Colour = INK,
) -> None:  # fmt: skip
    """A line of text around x, below y."""
    draw_line(draw, x, y, text, font, align=Align.CENTRE, fill=fill)


def draw_lines(draw: ImageDraw.ImageDraw, y: int, lines: Iterable[str]) -> None:
    """Lines of soft text at the margin, one below the other."""
    for place, line in enumerate(lines):
        draw_line(draw, MARGIN, y + place * Font.BODY.line_height, line, fill=SOFT_INK)
