"""A picture of the multichannel product at work: Hall, Carr & Hart 2003, equations (8) to (11).

A texel holds one element of each quadrant of a matrix, in r, g, b and a. The picture follows one
fragment of a run of hall-carr-hart-multi: the two texels that a step looks up, as its two
multiply-adds swizzle them, the products, and the sum. Every number was read back from an executor,
and swizzles, registers and texels are read from the program: the picture computes nothing itself.

The matrices are called X, Y and Z as in the equations, whose letters A to H are their quadrants.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from PIL.ImageDraw import ImageDraw

from gpgpu_legacy.files import Write
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.pictures import animation_of
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line
from gpgpu_legacy.studies.multichannel.model import CHANNELS
from gpgpu_legacy.studies.pages import (
    INK,
    MARGIN,
    MARK,
    RULE,
    SPACE,
    draw_centred,
    draw_operators,
    draw_rule,
    page,
)

if TYPE_CHECKING:
    from gpgpu_legacy.studies.multichannel.model import Demonstration, MultiplyAdd

_LINE: Colour = (150, 150, 150)

# Each channel has a light colour for its cells and a dark one for its letter.
_FILLS: dict[str, Colour] = {
    "r": (250, 214, 208),
    "g": (211, 238, 205),
    "b": (208, 224, 250),
    "a": (238, 230, 206),
}
_LETTERS: dict[str, Colour] = {
    "r": (176, 32, 24),
    "g": (28, 112, 36),
    "b": (24, 72, 172),
    "a": (124, 88, 12),
}
# The letters of equation (8).
_QUADRANTS = {
    "X": dict(zip(CHANNELS, "ABCD", strict=True)),
    "Y": dict(zip(CHANNELS, "EFGH", strict=True)),
}

# Lengths are in pixels.
_CELL_WIDTH, _CELL_HEIGHT = 82, 42
_PANEL_WIDTH, _PANEL_HEIGHT = 2 * _CELL_WIDTH, 2 * _CELL_HEIGHT
_GAP = 44
_PAGE_WIDTH = 2 * MARGIN + 5 * _PANEL_WIDTH + 4 * _GAP
_LINE_HEIGHT = Font.BODY_BOLD.line_height + _PANEL_HEIGHT + SPACE
_INSET = 7  # of what is written in a cell
_MATRIX_WIDTH = 312
_LARGEST_CELL, _MATRIX_CELL_HEIGHT = 64, 36
_SPLIT = 4  # between quadrants

_HEADS = ("looked up", "X, swizzled", "Y, swizzled", "product", "sum")
_CENTRES = [
    MARGIN + place * (_PANEL_WIDTH + _GAP) + _PANEL_WIDTH // 2 for place in range(len(_HEADS))
]

_NO_ROOM = "…"
"""Stands for a number that does not fit."""


def draw_multichannel(
    demonstration: Demonstration, fragment: tuple[int, int] | None = None
) -> Image.Image:
    """The picture for one fragment, as an RGB image.

    fragment: its row and column. By default one whose row and column differ, if there is any.
    """
    at = fragment or demonstration.typical
    adds = demonstration.multiply_adds
    # A step shares its texels.
    steps = [list(step) for _, step in groupby(adds, lambda add: add.x.columns.tobytes())]

    def draw_steps(draw: ImageDraw, y: int) -> None:
        for number, step in enumerate(steps):
            if number:
                draw_rule(draw, y - SPACE, _PAGE_WIDTH)
            _draw_step(draw, y, step, at)
            y += len(step) * _LINE_HEIGHT + 2 * SPACE
        # The last sum, which is what the framed elements of Z hold.
        left, bottom = _CENTRES[-1] - _PANEL_WIDTH // 2, y - 3 * SPACE
        place = (left, bottom - _PANEL_HEIGHT, left + _PANEL_WIDTH, bottom)
        draw.rectangle(place, outline=MARK, width=3)

    tallest = max(2 * rows for rows, _ in demonstration.halves) * _MATRIX_CELL_HEIGHT + _SPLIT
    height = Font.TITLE.line_height + tallest + 2 * Font.BODY_BOLD.line_height + SPACE
    middle = (Font.TITLE.line_height + height) // 2
    count = len(demonstration.fragments)
    first, second = (f"X.{add.x.channels} × Y.{add.y.channels}" for add in adds[:2])
    return page(
        _PAGE_WIDTH,
        "Multichannel matrix multiplication",
        (
            f"Z = X × Y, {demonstration.sizes}, by "
            f"{f'{count} fragments' if count > 1 else 'one fragment'} in one pass.",
            "A texel holds one element of each quadrant: in r, g, b and a, equation (8).",
        ),
        upper=(height, lambda draw, y: _draw_matrices(draw, y, y + middle, demonstration, at)),
        heads={x: (head,) for x, head in zip(_CENTRES, _HEADS, strict=True)},
        lower=(len(adds) * _LINE_HEIGHT + len(steps) * 2 * SPACE, draw_steps),
        caption=f"The fragment in row {at[0]} and column {at[1]} makes the four elements of Z that "
        "are framed, one in each quadrant, all at once. "
        f"{'Its one step' if len(steps) == 1 else f'Each of its {len(steps)} steps'} looks up one "
        f"texel of X and one of Y and multiplies them twice: {first}, equation (9), and {second}; "
        "their sum is equation (10), and these multiply-adds are listing (11). A cell's colour and "
        "letter name the channel that its number was read from; in a product the letters name the "
        "quadrants. After Hall, Carr & Hart 2003, Section 4.",
    )


def animated_multichannel(demonstration: Demonstration) -> Write:
    """What fills a GIF that shows every fragment for three seconds."""
    images = [draw_multichannel(demonstration, fragment) for fragment in demonstration.fragments]
    return animation_of(images, [3000] * len(images))


def _draw_cell(
    draw: ImageDraw, corner: tuple[int, int], size: tuple[int, int], fill: Colour
) -> None:
    """A filled rectangle with an outline. size: width and height in pixels."""
    x, y = corner
    draw.rectangle((x, y, x + size[0], y + size[1]), fill=fill, outline=_LINE)


def _number_text(value: float, room: int) -> str:
    """A number with as many digits as fit into `room` pixels; _NO_ROOM if not even one fits."""
    texts = [f"{value:.{digits}g}" for digits in range(4, 0, -1)]
    return next((text for text in texts if Font.BODY.width(text) <= room), _NO_ROOM)


# X, Y and Z, in quadrants of four colours ---------------------------------------------------------


def _draw_matrices(
    draw: ImageDraw, y: int, middle: int, demonstration: Demonstration, fragment: tuple[int, int]
) -> None:
    """Draw Z = X × Y below y, with the texels framed that the fragment reads and writes."""
    marks: dict[str, set[tuple[int, int]]] = {"X": set(), "Y": set(), "Z": {fragment}}
    for multiply_add in demonstration.multiply_adds:
        for operand in (multiply_add.x, multiply_add.y):
            marks[operand.matrix].add(operand.place(fragment))
    pitch = (_PAGE_WIDTH - 2 * MARGIN - _MATRIX_WIDTH) // 2
    centres = [MARGIN + _MATRIX_WIDTH // 2 + place * pitch for place in range(3)]
    values = (demonstration.x, demonstration.y, demonstration.z)
    for centre, (name, marked), matrix, half in zip(
        centres, marks.items(), values, demonstration.halves, strict=True
    ):
        draw_centred(draw, centre, y, name, Font.TITLE)
        _draw_matrix(draw, (centre, middle), matrix, half, name=name, marks=marked)
    draw_operators(draw, centres, middle, "×=")


def _draw_matrix(
    draw: ImageDraw,
    centre: tuple[int, int],
    values: F32,
    half: tuple[int, int],
    *,
    name: str,
    marks: set[tuple[int, int]],
) -> None:
    """A matrix in its four quadrants; the elements of the marked texels are framed.

    half: rows and columns of a quadrant, with the zeros that fill its texture. marks: in one row or
    one column.
    """
    rows, columns = half
    cell = (min(_LARGEST_CELL, (_MATRIX_WIDTH - _SPLIT) // (2 * columns)), _MATRIX_CELL_HEIGHT)
    width, height = columns * cell[0], rows * cell[1]
    left, upper = centre[0] - width - _SPLIT // 2, centre[1] - height - _SPLIT // 2
    titles_at = (upper - Font.BODY_BOLD.line_height - 2, upper + 2 * height + _SPLIT + 2)
    padded = np.pad(values, [(0, 2 * n - size) for n, size in zip(half, values.shape, strict=True)])
    marked = np.array([*marks])
    (top, first), (bottom, last) = marked.min(axis=0).tolist(), marked.max(axis=0).tolist()
    for channel, letter in enumerate(CHANNELS):
        down, right = divmod(channel, 2)
        x, y = left + right * (width + _SPLIT), upper + down * (height + _SPLIT)
        quadrant = padded[down * rows :, right * columns :][:rows, :columns]
        for (i, j), value in np.ndenumerate(quadrant):
            corner = (x + j * cell[0], y + i * cell[1])
            _draw_cell(draw, corner, cell, _FILLS[letter])
            text = _number_text(float(value), cell[0] - 3)
            at = corner[1] + (cell[1] - Font.BODY.line_height) // 2
            draw_centred(draw, corner[0] + cell[0] // 2, at, text)
        edges = (
            x + first * cell[0],
            y + top * cell[1],
            x + (last + 1) * cell[0],
            y + (bottom + 1) * cell[1],
        )
        draw.rectangle(edges, outline=MARK, width=3)
        quadrants = _QUADRANTS.get(name)
        title = f"{quadrants[letter]} in {letter}" if quadrants else letter
        fill = _LETTERS[letter]
        draw_centred(draw, x + width // 2, titles_at[down], title, Font.BODY_BOLD, fill=fill)


# The multiply-adds: texels, swizzles, products and sums ------------------------------------------


def _draw_step(draw: ImageDraw, y: int, step: Sequence[MultiplyAdd], at: tuple[int, int]) -> None:
    """The texels that a step looks up, one above the other, and a line for each multiply-add."""
    for place, operand in enumerate((step[0].x, step[0].y)):
        row, column = operand.place(at)
        title = f"{operand.register} = {operand.matrix}({row}, {column})"
        _draw_vector(draw, 0, y + place * _LINE_HEIGHT, title, operand.texel[at])
    middle = MARGIN + _PANEL_WIDTH + _GAP // 2
    draw.line((middle, y, middle, y + len(step) * _LINE_HEIGHT - SPACE), fill=RULE)
    for add in step:
        for column, operand in enumerate((add.x, add.y), start=1):
            letters = operand.channels
            title, values = f"{operand.register}.{letters}", operand.swizzled[at]
            _draw_vector(draw, column, y, title, values, channels=letters, names=letters)
        pairs = zip(add.x.channels, add.y.channels, strict=True)
        quadrants = [_QUADRANTS["X"][x] + _QUADRANTS["Y"][y] for x, y in pairs]
        _draw_vector(draw, 3, y, "", add.product[at], names=quadrants)
        _draw_vector(draw, 4, y, add.register, add.total[at])
        middle = y + Font.BODY_BOLD.line_height + _PANEL_HEIGHT // 2
        draw_operators(draw, _CENTRES[1:], middle, "×=→")
        y += _LINE_HEIGHT


def _draw_vector(
    draw: ImageDraw,
    column: int,
    y: int,
    title: str,
    values: F32,
    *,
    channels: str = CHANNELS,
    names: Sequence[str] = CHANNELS,
) -> None:
    """Four numbers in a square of cells, r and g above b and a, with the title over it.

    channels: those that colour the cells. names: the letters in the cells.
    """
    centre = _CENTRES[column]
    draw_centred(draw, centre, y, title, Font.BODY_BOLD)
    left, upper = centre - _PANEL_WIDTH // 2, y + Font.BODY_BOLD.line_height
    for place, (channel, name, value) in enumerate(zip(channels, names, values, strict=True)):
        down, right = divmod(place, 2)
        x, top = left + right * _CELL_WIDTH, upper + down * _CELL_HEIGHT
        _draw_cell(draw, (x, top), (_CELL_WIDTH, _CELL_HEIGHT), _FILLS[channel])
        at = top + (_CELL_HEIGHT - Font.BODY.line_height) // 2
        beside = _CELL_WIDTH - 3 * _INSET - Font.BODY_BOLD.width(name)
        text = _number_text(float(value), beside)
        if text == _NO_ROOM:
            text = _number_text(float(value), _CELL_WIDTH - 2 * _INSET)
        else:
            draw_line(draw, x + _INSET, at, name, Font.BODY_BOLD, fill=_LETTERS[channel])
        end = x + _CELL_WIDTH - _INSET
        draw_line(draw, end, at, text, align=Align.RIGHT, fill=INK)
