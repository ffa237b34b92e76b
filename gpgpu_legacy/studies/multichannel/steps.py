"""The multiply-adds of the multichannel picture: texels, swizzles, products and sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import ImageDraw

from gpgpu_legacy.present.pixel_text import Align, Font, draw_line
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.studies.multichannel.cells import (
    CELL_HEIGHT,
    CELL_WIDTH,
    FILLS,
    GAP,
    LETTERS,
    NO_ROOM,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    PITCH,
    QUADRANTS,
    centre_of,
    draw_cell,
    number_text,
)
from gpgpu_legacy.studies.multichannel.model import CHANNELS
from gpgpu_legacy.studies.pages import INK, MARGIN, MARK, RULE, SPACE, draw_centred

if TYPE_CHECKING:
    from gpgpu_legacy.studies.multichannel.model import MultiplyAdd, Operand

_INSET = 7  # of what is written in a cell
HEADS = ("looked up", "X, swizzled", "Y, swizzled", "product", "sum")
_OPERATORS = ("×", "=", "→")
LINE_HEIGHT = Font.BODY_BOLD.line_height + PANEL_HEIGHT + SPACE


@dataclass(frozen=True, slots=True, eq=False)
class _Vector:
    """Four numbers to draw, with a title.

    channels: those that colour the cells. names: the letters in the cells.
    """

    title: str
    values: F32
    channels: str = CHANNELS
    names: tuple[str, ...] = tuple(CHANNELS)


def draw_step(
    draw: ImageDraw.ImageDraw, y: int, step: list[MultiplyAdd], fragment: tuple[int, int]
) -> None:
    """The texels that a step looks up, one above the other, and a line for each multiply-add."""
    for place, operand in enumerate((step[0].x, step[0].y)):
        row, column = operand.place(fragment)
        title = f"{operand.register} = {operand.matrix}({row}, {column})"
        _draw_vector(draw, 0, y + place * LINE_HEIGHT, _Vector(title, operand.texel[fragment]))
    middle = MARGIN + PANEL_WIDTH + GAP // 2
    bottom = y + len(step) * LINE_HEIGHT - SPACE
    draw.line((middle, y, middle, bottom), fill=RULE)
    for place, multiply_add in enumerate(step):
        _draw_multiply_add(draw, y + place * LINE_HEIGHT, multiply_add, fragment)


def _draw_multiply_add(
    draw: ImageDraw.ImageDraw, y: int, multiply_add: MultiplyAdd, fragment: tuple[int, int]
) -> None:
    quadrants = tuple(
        QUADRANTS["X"][x] + QUADRANTS["Y"][y]
        for x, y in zip(multiply_add.x.channels, multiply_add.y.channels, strict=True)
    )
    vectors = (
        _swizzled(multiply_add.x, fragment),
        _swizzled(multiply_add.y, fragment),
        _Vector("", multiply_add.product[fragment], names=quadrants),
        _Vector(multiply_add.register, multiply_add.total[fragment]),
    )
    for column, vector in enumerate(vectors, start=1):
        _draw_vector(draw, column, y, vector)
    at = y + Font.BODY_BOLD.line_height + (PANEL_HEIGHT - Font.TITLE.line_height) // 2
    for place, operator in enumerate(_OPERATORS, start=1):
        x = centre_of(place) + PITCH // 2
        draw_centred(draw, x, at, operator, Font.TITLE)


def _swizzled(operand: Operand, fragment: tuple[int, int]) -> _Vector:
    title = f"{operand.register}.{operand.channels}"
    values = operand.swizzled[fragment]
    return _Vector(title, values, operand.channels, tuple(operand.channels))


def draw_result(draw: ImageDraw.ImageDraw, bottom: int) -> None:
    """A frame around the last sum, which is what the framed elements of Z hold."""
    left = centre_of(len(HEADS) - 1) - PANEL_WIDTH // 2
    draw.rectangle((left, bottom - PANEL_HEIGHT, left + PANEL_WIDTH, bottom), outline=MARK, width=3)


def _draw_vector(draw: ImageDraw.ImageDraw, column: int, y: int, vector: _Vector) -> None:
    """A square of four cells, r and g above b and a, with the title over it."""
    centre = centre_of(column)
    draw_centred(draw, centre, y, vector.title, Font.BODY_BOLD)
    left, upper = centre - PANEL_WIDTH // 2, y + Font.BODY_BOLD.line_height
    cells = zip(vector.channels, vector.names, vector.values, strict=True)
    for place, (channel, name, value) in enumerate(cells):
        down, right = divmod(place, 2)
        x, top = left + right * CELL_WIDTH, upper + down * CELL_HEIGHT
        draw_cell(draw, (x, top), (CELL_WIDTH, CELL_HEIGHT), FILLS[channel])
        at = top + (CELL_HEIGHT - Font.BODY.line_height) // 2
        beside = CELL_WIDTH - 3 * _INSET - Font.BODY_BOLD.width(name)
        text = number_text(float(value), beside)
        if text == NO_ROOM:
            text = number_text(float(value), CELL_WIDTH - 2 * _INSET)
        else:
            draw_line(draw, x + _INSET, at, name, Font.BODY_BOLD, fill=LETTERS[channel])
        end = x + CELL_WIDTH - _INSET
        draw_line(draw, end, at, text, align=Align.RIGHT, fill=INK)
