"""A picture of the multichannel product at work: Hall, Carr & Hart 2003, equations (8) to (11).

A texel holds one element of each quadrant of a matrix, in r, g, b and a. The picture follows one
fragment of a run of hall-carr-hart-multi: the two texels that a step looks up, as its two
multiply-adds swizzle them, the products, and the sum. Every number was read back from an executor,
and swizzles, registers and texels are read from the program: the picture computes nothing itself.

The matrices are called X, Y and Z as in the equations, whose letters A to H are their quadrants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from gpgpu_legacy.files import Write
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.pictures import animation_of
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line, wrap
from gpgpu_legacy.studies.multichannel.model import CHANNELS
from gpgpu_legacy.studies.pages import (
    INK,
    MARGIN,
    MARK,
    PAPER,
    RULE,
    SPACE,
    draw_centred,
    draw_lines,
)

if TYPE_CHECKING:
    from gpgpu_legacy.studies.multichannel.model import Demonstration, MultiplyAdd, Operand

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
_PITCH = _PANEL_WIDTH + _GAP
_PAGE_WIDTH = 2 * MARGIN + 5 * _PANEL_WIDTH + 4 * _GAP

_NO_ROOM = "…"
"""Stands for a number that does not fit."""


def _draw_rule(draw: ImageDraw.ImageDraw, y: int) -> None:
    """A line from margin to margin."""
    draw.line((MARGIN, y, _PAGE_WIDTH - MARGIN, y), fill=RULE)


def _centre_of(column: int) -> int:
    """The x of the middle of a column of panels, counted from 0."""
    return MARGIN + column * _PITCH + _PANEL_WIDTH // 2


def _draw_cell(
    draw: ImageDraw.ImageDraw, corner: tuple[int, int], size: tuple[int, int], fill: Colour
) -> None:
    """A filled rectangle with an outline. size: width and height in pixels."""
    x, y = corner
    draw.rectangle((x, y, x + size[0], y + size[1]), fill=fill, outline=_LINE)


def _number_text(value: float, room: int) -> str:
    """A number with as many digits as fit into `room` pixels; _NO_ROOM if not even one fits."""
    texts = [f"{value:.{digits}g}" for digits in range(4, 0, -1)]
    return next((text for text in texts if Font.BODY.width(text) <= room), _NO_ROOM)


# The page ----------------------------------------------------------------------------------------


def draw_multichannel(
    demonstration: Demonstration, fragment: tuple[int, int] | None = None
) -> Image.Image:
    """The picture for one fragment, as an RGB image.

    fragment: its row and column. By default one whose row and column differ, if there is any.
    """
    return _page(demonstration, fragment or demonstration.typical)


def animated_multichannel(demonstration: Demonstration) -> Write:
    """What fills a GIF that shows every fragment for three seconds."""
    images = [_page(demonstration, fragment) for fragment in demonstration.fragments]
    palette = _palette(images[0])
    indexed = [_indexed(image, palette) for image in images]
    return animation_of(indexed, [3000] * len(images))


def _palette(image: Image.Image) -> NDArray[np.int32]:
    """The 256 commonest colours, (256, 3). Areas keep theirs; the edges of letters may not."""
    counts = image.getcolors(image.width * image.height)
    assert counts is not None
    return np.array([color for _, color in sorted(counts, reverse=True)[:256]], np.int32)


def _indexed(image: Image.Image, palette: NDArray[np.int32]) -> Image.Image:
    """The image in the nearest colours of a palette, which all frames of an animation share."""
    pixels = np.asarray(image).astype(np.int32)
    codes = (pixels[..., 0] << 16) | (pixels[..., 1] << 8) | pixels[..., 2]
    different, places = np.unique(codes, return_inverse=True)
    colors = np.stack([different >> 16, (different >> 8) & 255, different & 255], axis=-1)
    distances = ((colors[:, None] - palette[None]) ** 2).sum(axis=-1)
    nearest = distances.argmin(axis=-1).astype(np.uint8)
    indexed = Image.fromarray(nearest[places].reshape(codes.shape))
    indexed.putpalette(palette.astype(np.uint8).tobytes())
    return indexed


def _page(demonstration: Demonstration, fragment: tuple[int, int]) -> Image.Image:
    """Title, matrices, a line of panels for each multiply-add, caption."""
    caption = wrap(_caption(demonstration, fragment), Font.BODY, _PAGE_WIDTH - 2 * MARGIN)
    steps = _steps(demonstration)

    title = MARGIN
    matrices = title + Font.TITLE.line_height + 2 * Font.BODY.line_height + 2 * SPACE
    heads = matrices + _matrices_height(demonstration) + 3 * SPACE
    lines = heads + Font.BODY_BOLD.line_height + SPACE
    heights = [len(step) * _LINE_HEIGHT + 2 * SPACE for step in steps]
    foot = lines + sum(heights)
    height = foot + SPACE + len(caption) * Font.BODY.line_height + MARGIN

    image = Image.new("RGB", (_PAGE_WIDTH, height), PAPER)
    draw = ImageDraw.Draw(image)
    _draw_title(draw, title, demonstration)
    _draw_matrices(draw, matrices, demonstration, fragment)
    _draw_rule(draw, heads - 3 * SPACE // 2)
    for column, head in enumerate(_HEADS):
        draw_centred(draw, _centre_of(column), heads, head, Font.BODY_BOLD)
    y = lines
    for number, (step, step_height) in enumerate(zip(steps, heights, strict=True)):
        if number:
            _draw_rule(draw, y - SPACE)
        _draw_step(draw, y, step, fragment)
        y += step_height
    _draw_result(draw, y - 3 * SPACE)
    _draw_rule(draw, foot - SPACE // 2)
    draw_lines(draw, foot + SPACE, caption)
    return image


def _steps(demonstration: Demonstration) -> list[list[MultiplyAdd]]:
    """The multiply-adds, grouped by the texels that they share."""
    steps: list[list[MultiplyAdd]] = []
    for multiply_add in demonstration.multiply_adds:
        if steps and np.array_equal(steps[-1][0].x.columns, multiply_add.x.columns):
            steps[-1].append(multiply_add)
        else:
            steps.append([multiply_add])
    return steps


def _caption(demonstration: Demonstration, fragment: tuple[int, int]) -> str:
    count = len(_steps(demonstration))
    first, second = (
        f"X.{pair.x.channels} × Y.{pair.y.channels}" for pair in demonstration.multiply_adds[:2]
    )
    sentences = (
        f"The fragment in row {fragment[0]} and column {fragment[1]} makes the four elements of Z "
        "that are framed, one in each quadrant, all at once.",
        "Its one step" if count == 1 else f"Each of its {count} steps",
        f"looks up one texel of X and one of Y and multiplies them twice: {first}, equation (9), "
        f"and {second}; their sum is equation (10), and these multiply-adds are listing (11).",
        "A cell's colour and letter name the channel that its number was read from; in a product "
        "the letters name the quadrants.",
        "After Hall, Carr & Hart 2003, Section 4.",
    )
    return " ".join(sentences)


def _draw_title(draw: ImageDraw.ImageDraw, y: int, demonstration: Demonstration) -> None:
    title = "Multichannel matrix multiplication"
    draw_line(draw, MARGIN, y, title, Font.TITLE, fill=INK)
    rows, columns = demonstration.halves[2]
    count = rows * columns
    lines = (
        f"Z = X × Y, {demonstration.sizes}, by "
        f"{f'{count} fragments' if count > 1 else 'one fragment'} in one pass.",
        "A texel holds one element of each quadrant: in r, g, b and a, equation (8).",
    )
    draw_lines(draw, y + Font.TITLE.line_height, lines)


# X, Y and Z, in quadrants of four colours ---------------------------------------------------------

_MATRIX_WIDTH = 312
_LARGEST_CELL, _MATRIX_CELL_HEIGHT = 64, 36
_SPLIT = 4  # between quadrants


@dataclass(frozen=True, slots=True, eq=False)
class _Matrix:
    """A matrix to draw. half: rows and columns of a quadrant. marks: texels to frame."""

    name: str
    values: F32
    half: tuple[int, int]
    marks: set[tuple[int, int]]

    @property
    def cell_width(self) -> int:
        return min(_LARGEST_CELL, (_MATRIX_WIDTH - _SPLIT) // (2 * self.half[1]))

    @property
    def padded(self) -> F32:
        """With the zeros that fill its texture."""
        rows, columns = self.half
        padded = np.zeros((2 * rows, 2 * columns), np.float32)
        padded[: self.values.shape[0], : self.values.shape[1]] = self.values
        return padded


def _matrices_height(demonstration: Demonstration) -> int:
    """Pixels from the letters above the matrices to the titles below."""
    tallest = max(2 * rows for rows, _ in demonstration.halves)
    panel = tallest * _MATRIX_CELL_HEIGHT + _SPLIT
    return Font.TITLE.line_height + panel + 2 * Font.BODY_BOLD.line_height + SPACE


def _draw_matrices(
    draw: ImageDraw.ImageDraw, y: int, demonstration: Demonstration, fragment: tuple[int, int]
) -> None:
    """Draw Z = X × Y below y, with the texels framed that the fragment reads and writes."""
    pitch = (_PAGE_WIDTH - 2 * MARGIN - _MATRIX_WIDTH) // 2
    middle = y + (Font.TITLE.line_height + _matrices_height(demonstration)) // 2
    centres = [MARGIN + _MATRIX_WIDTH // 2 + place * pitch for place in range(3)]
    for centre, matrix in zip(centres, _matrices(demonstration, fragment), strict=True):
        draw_centred(draw, centre, y, matrix.name, Font.TITLE)
        _draw_matrix(draw, (centre, middle), matrix)
    for place, operator in enumerate("×="):
        x = (centres[place] + centres[place + 1]) // 2
        at = middle - Font.TITLE.line_height // 2
        draw_centred(draw, x, at, operator, Font.TITLE)


def _matrices(demonstration: Demonstration, fragment: tuple[int, int]) -> list[_Matrix]:
    """X, Y and Z, with the texels marked that the fragment reads or writes."""
    marks: dict[str, set[tuple[int, int]]] = {"X": set(), "Y": set(), "Z": {fragment}}
    for multiply_add in demonstration.multiply_adds:
        for operand in (multiply_add.x, multiply_add.y):
            marks[operand.matrix].add(operand.place(fragment))
    values = (demonstration.x, demonstration.y, demonstration.z)
    return [
        _Matrix(name, matrix, half, marks[name])
        for name, matrix, half in zip("XYZ", values, demonstration.halves, strict=True)
    ]


def _draw_matrix(draw: ImageDraw.ImageDraw, centre: tuple[int, int], matrix: _Matrix) -> None:
    """A matrix in its four quadrants; the elements of the marked texels are framed."""
    cell = (matrix.cell_width, _MATRIX_CELL_HEIGHT)
    rows, columns = matrix.half
    width, height = columns * cell[0], rows * cell[1]
    left, upper = centre[0] - width - _SPLIT // 2, centre[1] - height - _SPLIT // 2
    titles_at = (upper - Font.BODY_BOLD.line_height - 2, upper + 2 * height + _SPLIT + 2)
    for channel, letter in enumerate(CHANNELS):
        down, right = divmod(channel, 2)
        corner = (left + right * (width + _SPLIT), upper + down * (height + _SPLIT))
        quadrant = matrix.padded[down * rows :, right * columns :][:rows, :columns]
        _draw_quadrant(draw, corner, cell, quadrant, _FILLS[letter])
        _draw_mark(draw, corner, cell, matrix.marks)
        quadrants = _QUADRANTS.get(matrix.name)
        title = f"{quadrants[letter]} in {letter}" if quadrants else letter
        middle = corner[0] + width // 2
        draw_centred(draw, middle, titles_at[down], title, Font.BODY_BOLD, fill=_LETTERS[letter])


def _draw_quadrant(
    draw: ImageDraw.ImageDraw,
    corner: tuple[int, int],
    cell: tuple[int, int],
    values: F32,
    fill: Colour,
) -> None:
    width, height = cell
    for (i, j), value in np.ndenumerate(values):
        x, y = corner[0] + j * width, corner[1] + i * height
        _draw_cell(draw, (x, y), cell, fill)
        text = _number_text(float(value), width - 3)
        at = y + (height - Font.BODY.line_height) // 2
        draw_centred(draw, x + width // 2, at, text)


def _draw_mark(
    draw: ImageDraw.ImageDraw,
    corner: tuple[int, int],
    cell: tuple[int, int],
    marks: set[tuple[int, int]],
) -> None:
    """A frame around the marked texels of a quadrant; they stand in one row or one column."""
    rows, columns = [row for row, _ in marks], [column for _, column in marks]
    x, y = corner[0] + min(columns) * cell[0], corner[1] + min(rows) * cell[1]
    right, lower = corner[0] + (max(columns) + 1) * cell[0], corner[1] + (max(rows) + 1) * cell[1]
    draw.rectangle((x, y, right, lower), outline=MARK, width=3)


# The multiply-adds: texels, swizzles, products and sums ------------------------------------------

_INSET = 7  # of what is written in a cell
_HEADS = ("looked up", "X, swizzled", "Y, swizzled", "product", "sum")
_OPERATORS = ("×", "=", "→")
_LINE_HEIGHT = Font.BODY_BOLD.line_height + _PANEL_HEIGHT + SPACE


@dataclass(frozen=True, slots=True, eq=False)
class _Vector:
    """Four numbers to draw, with a title.

    channels: those that colour the cells. names: the letters in the cells.
    """

    title: str
    values: F32
    channels: str = CHANNELS
    names: tuple[str, ...] = tuple(CHANNELS)


def _draw_step(
    draw: ImageDraw.ImageDraw, y: int, step: list[MultiplyAdd], fragment: tuple[int, int]
) -> None:
    """The texels that a step looks up, one above the other, and a line for each multiply-add."""
    for place, operand in enumerate((step[0].x, step[0].y)):
        row, column = operand.place(fragment)
        title = f"{operand.register} = {operand.matrix}({row}, {column})"
        _draw_vector(draw, 0, y + place * _LINE_HEIGHT, _Vector(title, operand.texel[fragment]))
    middle = MARGIN + _PANEL_WIDTH + _GAP // 2
    bottom = y + len(step) * _LINE_HEIGHT - SPACE
    draw.line((middle, y, middle, bottom), fill=RULE)
    for place, multiply_add in enumerate(step):
        _draw_multiply_add(draw, y + place * _LINE_HEIGHT, multiply_add, fragment)


def _draw_multiply_add(
    draw: ImageDraw.ImageDraw, y: int, multiply_add: MultiplyAdd, fragment: tuple[int, int]
) -> None:
    quadrants = tuple(
        _QUADRANTS["X"][x] + _QUADRANTS["Y"][y]
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
    at = y + Font.BODY_BOLD.line_height + (_PANEL_HEIGHT - Font.TITLE.line_height) // 2
    for place, operator in enumerate(_OPERATORS, start=1):
        x = _centre_of(place) + _PITCH // 2
        draw_centred(draw, x, at, operator, Font.TITLE)


def _swizzled(operand: Operand, fragment: tuple[int, int]) -> _Vector:
    title = f"{operand.register}.{operand.channels}"
    values = operand.swizzled[fragment]
    return _Vector(title, values, operand.channels, tuple(operand.channels))


def _draw_result(draw: ImageDraw.ImageDraw, bottom: int) -> None:
    """A frame around the last sum, which is what the framed elements of Z hold."""
    left = _centre_of(len(_HEADS) - 1) - _PANEL_WIDTH // 2
    draw.rectangle(
        (left, bottom - _PANEL_HEIGHT, left + _PANEL_WIDTH, bottom), outline=MARK, width=3
    )


def _draw_vector(draw: ImageDraw.ImageDraw, column: int, y: int, vector: _Vector) -> None:
    """A square of four cells, r and g above b and a, with the title over it."""
    centre = _centre_of(column)
    draw_centred(draw, centre, y, vector.title, Font.BODY_BOLD)
    left, upper = centre - _PANEL_WIDTH // 2, y + Font.BODY_BOLD.line_height
    cells = zip(vector.channels, vector.names, vector.values, strict=True)
    for place, (channel, name, value) in enumerate(cells):
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
