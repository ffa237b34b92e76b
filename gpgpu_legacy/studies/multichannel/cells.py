"""What all parts of the multichannel picture share: colours, lengths in pixels, and cells."""

from __future__ import annotations

from PIL import ImageDraw

from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.pixel_text import Font
from gpgpu_legacy.studies.multichannel.model import CHANNELS
from gpgpu_legacy.studies.pages import MARGIN, RULE

LINE: Colour = (150, 150, 150)

# Each channel has a light colour for its cells and a dark one for its letter.
FILLS: dict[str, Colour] = {
    "r": (250, 214, 208),
    "g": (211, 238, 205),
    "b": (208, 224, 250),
    "a": (238, 230, 206),
}
LETTERS: dict[str, Colour] = {
    "r": (176, 32, 24),
    "g": (28, 112, 36),
    "b": (24, 72, 172),
    "a": (124, 88, 12),
}
# The letters of equation (8).
QUADRANTS = {
    "X": dict(zip(CHANNELS, "ABCD", strict=True)),
    "Y": dict(zip(CHANNELS, "EFGH", strict=True)),
}

# Lengths are in pixels.
CELL_WIDTH, CELL_HEIGHT = 82, 42
PANEL_WIDTH, PANEL_HEIGHT = 2 * CELL_WIDTH, 2 * CELL_HEIGHT
GAP = 44
PITCH = PANEL_WIDTH + GAP
PAGE_WIDTH = 2 * MARGIN + 5 * PANEL_WIDTH + 4 * GAP

NO_ROOM = "…"
"""Stands for a number that does not fit."""


def draw_rule(draw: ImageDraw.ImageDraw, y: int) -> None:
    """A line from margin to margin."""
    draw.line((MARGIN, y, PAGE_WIDTH - MARGIN, y), fill=RULE)


def centre_of(column: int) -> int:
    """The x of the middle of a column of panels, counted from 0."""
    return MARGIN + column * PITCH + PANEL_WIDTH // 2


def draw_cell(
    draw: ImageDraw.ImageDraw, corner: tuple[int, int], size: tuple[int, int], fill: Colour
) -> None:
    """A filled rectangle with an outline. size: width and height in pixels."""
    x, y = corner
    draw.rectangle((x, y, x + size[0], y + size[1]), fill=fill, outline=LINE)


def number_text(value: float, room: int) -> str:
    """A number with as many digits as fit into `room` pixels; NO_ROOM if not even one fits."""
    texts = [f"{value:.{digits}g}" for digits in range(4, 0, -1)]
    return next((text for text in texts if Font.BODY.width(text) <= room), NO_ROOM)
