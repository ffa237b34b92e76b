"""A picture of the multichannel product at work: Hall, Carr & Hart 2003, equations (8) to (11).

A texel holds one element of each quadrant of a matrix, in r, g, b and a. The picture follows one
fragment of a run of hall-carr-hart-multi: the two texels that a step looks up, as its two
multiply-adds swizzle them, the products, and the sum. Every number is what an executor gave back,
and the swizzles, registers and texels are read from the program: nothing is computed beside.

The matrices are called X, Y and Z as in the equations, whose letters A to H are their quadrants.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from gpgpu_legacy.files import write_whole
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line, wrap
from gpgpu_legacy.runtime.executor import F32
from gpgpu_legacy.studies.multichannel.model import CHANNELS, Demonstration, MultiplyAdd, Operand

# The demonstration: what is drawn -------------------------------------------------------------


# The drawing ----------------------------------------------------------------------------------

_Color = tuple[int, int, int]

_PAPER: _Color = (246, 246, 246)
_INK: _Color = (28, 28, 28)
_SOFT_INK: _Color = (92, 92, 92)
_RULE: _Color = (205, 205, 205)
_LINE: _Color = (150, 150, 150)
_MARK: _Color = (226, 92, 12)

# Each channel has a light colour for its cells and a dark one for its letter.
_FILLS: dict[str, _Color] = {
    "r": (250, 214, 208),
    "g": (211, 238, 205),
    "b": (208, 224, 250),
    "a": (238, 230, 206),
}
_LETTERS: dict[str, _Color] = {
    "r": (176, 32, 24),
    "g": (28, 112, 36),
    "b": (24, 72, 172),
    "a": (124, 88, 12),
}
_QUADRANTS = {
    "X": dict(zip(CHANNELS, "ABCD", strict=True)),  # equation (8)
    "Y": dict(zip(CHANNELS, "EFGH", strict=True)),
}

# Lengths are in pixels.
_MARGIN = 36
_SPACE = 12
_CELL_WIDTH, _CELL_HEIGHT = 82, 42
_PANEL_WIDTH, _PANEL_HEIGHT = 2 * _CELL_WIDTH, 2 * _CELL_HEIGHT
_GAP = 44
_PITCH = _PANEL_WIDTH + _GAP
_WIDTH = 2 * _MARGIN + 5 * _PANEL_WIDTH + 4 * _GAP
_MATRIX_WIDTH = 312
_LARGEST_CELL, _MATRIX_CELL_HEIGHT = 64, 36
_SPLIT = 4  # between quadrants
_INSET = 7  # of what is written in a cell

_NO_ROOM = "…"

_HEADS = ("looked up", "X, swizzled", "Y, swizzled", "product", "sum")
_OPERATORS = ("×", "=", "→")
_LINE_HEIGHT = Font.BODY_BOLD.line_height + _PANEL_HEIGHT + _SPACE


def draw_multichannel(
    demonstration: Demonstration, fragment: tuple[int, int] | None = None
) -> Image.Image:
    """The picture for one fragment, by its row and column; an RGB image.

    Without one, for a fragment whose row and column differ, where there is any.
    """
    return _page(demonstration, fragment or demonstration.typical)


def animate_multichannel(demonstration: Demonstration, path: Path) -> None:
    """A GIF that goes through the fragments, three seconds each.

    Raises InputError where the file cannot be written.
    """
    images = [_page(demonstration, fragment) for fragment in demonstration.fragments]
    palette = _palette(images[0])
    first, *others = (_indexed(image, palette) for image in images)
    write_whole(
        path,
        lambda to: first.save(
            to, "GIF", save_all=True, append_images=others, duration=3000, loop=0
        ),
    )


def _palette(image: Image.Image) -> NDArray[np.int32]:
    """The 256 commonest colours, (256, 3): areas keep theirs, only edges of letters may not."""
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
    caption = wrap(_caption(demonstration, fragment), Font.BODY, _WIDTH - 2 * _MARGIN)
    steps = _steps(demonstration)

    title = _MARGIN
    matrices = title + Font.TITLE.line_height + 2 * Font.BODY.line_height + 2 * _SPACE
    heads = matrices + _matrices_height(demonstration) + 3 * _SPACE
    lines = heads + Font.BODY_BOLD.line_height + _SPACE
    heights = [len(step) * _LINE_HEIGHT + 2 * _SPACE for step in steps]
    foot = lines + sum(heights)
    height = foot + _SPACE + len(caption) * Font.BODY.line_height + _MARGIN

    image = Image.new("RGB", (_WIDTH, height), _PAPER)
    draw = ImageDraw.Draw(image)
    _draw_title(draw, title, demonstration)
    _draw_matrices(draw, matrices, demonstration, fragment)
    _draw_rule(draw, heads - 3 * _SPACE // 2)
    for column, head in enumerate(_HEADS):
        draw_line(draw, _centre(column), heads, head, Font.BODY_BOLD, align=Align.CENTRE, fill=_INK)
    y = lines
    for number, (step, step_height) in enumerate(zip(steps, heights, strict=True)):
        if number:
            _draw_rule(draw, y - _SPACE)
        _draw_step(draw, y, step, fragment)
        y += step_height
    _draw_result(draw, y - 3 * _SPACE)
    _draw_rule(draw, foot - _SPACE // 2)
    for place, line in enumerate(caption):
        at = foot + _SPACE + place * Font.BODY.line_height
        draw_line(draw, _MARGIN, at, line, fill=_SOFT_INK)
    return image


def _steps(demonstration: Demonstration) -> list[list[MultiplyAdd]]:
    """The multiply-adds that share their texels, together."""
    steps: list[list[MultiplyAdd]] = []
    for each in demonstration.multiply_adds:
        if steps and np.array_equal(steps[-1][0].x.columns, each.x.columns):
            steps[-1].append(each)
        else:
            steps.append([each])
    return steps


def _caption(demonstration: Demonstration, fragment: tuple[int, int]) -> str:
    count = len(_steps(demonstration))
    first, second = (
        f"X.{each.x.channels} × Y.{each.y.channels}" for each in demonstration.multiply_adds[:2]
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
    draw_line(draw, _MARGIN, y, title, Font.TITLE, fill=_INK)
    (m, inner), n = demonstration.x.shape, demonstration.y.shape[1]
    rows, columns = demonstration.halves[2]
    count = rows * columns
    lines = (
        f"Z = X × Y, {m}×{inner} times {inner}×{n}, by "
        f"{f'{count} fragments' if count > 1 else 'one fragment'} in one pass.",
        "A texel holds one element of each quadrant: in r, g, b and a, equation (8).",
    )
    for place, line in enumerate(lines):
        at = y + Font.TITLE.line_height + place * Font.BODY.line_height
        draw_line(draw, _MARGIN, at, line, fill=_SOFT_INK)


def _draw_rule(draw: ImageDraw.ImageDraw, y: int) -> None:
    draw.line((_MARGIN, y, _WIDTH - _MARGIN, y), fill=_RULE)


def _centre(column: int) -> int:
    """The x of the middle of a column of panels, counted from 0."""
    return _MARGIN + column * _PITCH + _PANEL_WIDTH // 2


# The matrices, with their quadrants coloured --------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Matrix:
    """A matrix to be drawn. half: rows and columns of a quadrant. marks: texels to be framed."""

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
    tallest = max(2 * rows for rows, _ in demonstration.halves)
    panel = tallest * _MATRIX_CELL_HEIGHT + _SPLIT
    return Font.TITLE.line_height + panel + 2 * Font.BODY_BOLD.line_height + _SPACE


def _draw_matrices(
    draw: ImageDraw.ImageDraw, y: int, demonstration: Demonstration, fragment: tuple[int, int]
) -> None:
    pitch = (_WIDTH - 2 * _MARGIN - _MATRIX_WIDTH) // 2
    middle = y + (Font.TITLE.line_height + _matrices_height(demonstration)) // 2
    centres = [_MARGIN + _MATRIX_WIDTH // 2 + place * pitch for place in range(3)]
    for centre, matrix in zip(centres, _matrices(demonstration, fragment), strict=True):
        draw_line(draw, centre, y, matrix.name, Font.TITLE, align=Align.CENTRE, fill=_INK)
        _draw_matrix(draw, (centre, middle), matrix)
    for place, operator in enumerate("×="):
        x = (centres[place] + centres[place + 1]) // 2
        at = middle - Font.TITLE.line_height // 2
        draw_line(draw, x, at, operator, Font.TITLE, align=Align.CENTRE, fill=_INK)


def _matrices(demonstration: Demonstration, fragment: tuple[int, int]) -> list[_Matrix]:
    """X, Y and Z, with the texels marked that the fragment reads or writes."""
    marks: dict[str, set[tuple[int, int]]] = {"X": set(), "Y": set(), "Z": {fragment}}
    for each in demonstration.multiply_adds:
        for operand in (each.x, each.y):
            marks[operand.matrix].add(operand.place(fragment))
    values = (demonstration.x, demonstration.y, demonstration.z)
    return [
        _Matrix(name, each, half, marks[name])
        for name, each, half in zip("XYZ", values, demonstration.halves, strict=True)
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
        draw_line(
            draw,
            corner[0] + width // 2,
            titles_at[down],
            f"{quadrants[letter]} in {letter}" if quadrants else letter,
            Font.BODY_BOLD,
            align=Align.CENTRE,
            fill=_LETTERS[letter],
        )


def _draw_quadrant(
    draw: ImageDraw.ImageDraw,
    corner: tuple[int, int],
    cell: tuple[int, int],
    values: F32,
    fill: _Color,
) -> None:
    width, height = cell
    for (i, j), value in np.ndenumerate(values):
        x, y = corner[0] + j * width, corner[1] + i * height
        _draw_cell(draw, (x, y), cell, fill)
        text = _number(float(value), width - 3)
        at = y + (height - Font.BODY.line_height) // 2
        draw_line(draw, x + width // 2, at, text, align=Align.CENTRE, fill=_INK)


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
    draw.rectangle((x, y, right, lower), outline=_MARK, width=3)


# The multiply-adds ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Vector:
    """Four numbers to be drawn, with a title.

    channels: whose colours the cells have. names: what is written in them, if not the channels.
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
    middle = _MARGIN + _PANEL_WIDTH + _GAP // 2
    bottom = y + len(step) * _LINE_HEIGHT - _SPACE
    draw.line((middle, y, middle, bottom), fill=_RULE)
    for place, each in enumerate(step):
        _draw_multiply_add(draw, y + place * _LINE_HEIGHT, each, fragment)


def _draw_multiply_add(
    draw: ImageDraw.ImageDraw, y: int, each: MultiplyAdd, fragment: tuple[int, int]
) -> None:
    quadrants = tuple(
        _QUADRANTS["X"][x] + _QUADRANTS["Y"][y]
        for x, y in zip(each.x.channels, each.y.channels, strict=True)
    )
    vectors = (
        _swizzled(each.x, fragment),
        _swizzled(each.y, fragment),
        _Vector("", each.product[fragment], names=quadrants),
        _Vector(each.register, each.total[fragment]),
    )
    for column, vector in enumerate(vectors, start=1):
        _draw_vector(draw, column, y, vector)
    at = y + Font.BODY_BOLD.line_height + (_PANEL_HEIGHT - Font.TITLE.line_height) // 2
    for place, operator in enumerate(_OPERATORS, start=1):
        x = _centre(place) + _PITCH // 2
        draw_line(draw, x, at, operator, Font.TITLE, align=Align.CENTRE, fill=_INK)


def _swizzled(operand: Operand, fragment: tuple[int, int]) -> _Vector:
    title = f"{operand.register}.{operand.channels}"
    values = operand.swizzled[fragment]
    return _Vector(title, values, operand.channels, tuple(operand.channels))


def _draw_result(draw: ImageDraw.ImageDraw, bottom: int) -> None:
    """A frame around the last sum, which is what the framed elements of Z hold."""
    left = _centre(len(_HEADS) - 1) - _PANEL_WIDTH // 2
    draw.rectangle(
        (left, bottom - _PANEL_HEIGHT, left + _PANEL_WIDTH, bottom), outline=_MARK, width=3
    )


def _draw_vector(draw: ImageDraw.ImageDraw, column: int, y: int, vector: _Vector) -> None:
    """A square of four cells, r and g above b and a, with the title over it."""
    centre = _centre(column)
    draw_line(draw, centre, y, vector.title, Font.BODY_BOLD, align=Align.CENTRE, fill=_INK)
    left, upper = centre - _PANEL_WIDTH // 2, y + Font.BODY_BOLD.line_height
    cells = zip(vector.channels, vector.names, vector.values, strict=True)
    for place, (channel, name, value) in enumerate(cells):
        down, right = divmod(place, 2)
        x, top = left + right * _CELL_WIDTH, upper + down * _CELL_HEIGHT
        _draw_cell(draw, (x, top), (_CELL_WIDTH, _CELL_HEIGHT), _FILLS[channel])
        at = top + (_CELL_HEIGHT - Font.BODY.line_height) // 2
        beside = _CELL_WIDTH - 3 * _INSET - Font.BODY_BOLD.width(name)
        text = _number(float(value), beside)
        if text == _NO_ROOM:
            text = _number(float(value), _CELL_WIDTH - 2 * _INSET)
        else:
            draw_line(draw, x + _INSET, at, name, Font.BODY_BOLD, fill=_LETTERS[channel])
        end = x + _CELL_WIDTH - _INSET
        draw_line(draw, end, at, text, align=Align.RIGHT, fill=_INK)


def _draw_cell(
    draw: ImageDraw.ImageDraw, corner: tuple[int, int], size: tuple[int, int], fill: _Color
) -> None:
    x, y = corner
    draw.rectangle((x, y, x + size[0], y + size[1]), fill=fill, outline=_LINE)


def _number(value: float, room: int) -> str:
    """A number in as many digits as fit into so many pixels, "…" where not even one does."""
    texts = [f"{value:.{digits}g}" for digits in range(4, 0, -1)]
    return next((text for text in texts if Font.BODY.width(text) <= room), _NO_ROOM)
