"""X, Y and Z at the top of the multichannel picture, in quadrants of four colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import ImageDraw

from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.pixel_text import Font
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.studies.multichannel.cells import (
    FILLS,
    LETTERS,
    PAGE_WIDTH,
    QUADRANTS,
    draw_cell,
    number_text,
)
from gpgpu_legacy.studies.multichannel.model import CHANNELS
from gpgpu_legacy.studies.pages import MARGIN, MARK, SPACE, draw_centred

if TYPE_CHECKING:
    from gpgpu_legacy.studies.multichannel.model import Demonstration

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


def matrices_height(demonstration: Demonstration) -> int:
    """Pixels from the letters above the matrices to the titles below."""
    tallest = max(2 * rows for rows, _ in demonstration.halves)
    panel = tallest * _MATRIX_CELL_HEIGHT + _SPLIT
    return Font.TITLE.line_height + panel + 2 * Font.BODY_BOLD.line_height + SPACE


def draw_matrices(
    draw: ImageDraw.ImageDraw, y: int, demonstration: Demonstration, fragment: tuple[int, int]
) -> None:
    """Draw Z = X × Y below y, with the texels framed that the fragment reads and writes."""
    pitch = (PAGE_WIDTH - 2 * MARGIN - _MATRIX_WIDTH) // 2
    middle = y + (Font.TITLE.line_height + matrices_height(demonstration)) // 2
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
        _draw_quadrant(draw, corner, cell, quadrant, FILLS[letter])
        _draw_mark(draw, corner, cell, matrix.marks)
        quadrants = QUADRANTS.get(matrix.name)
        title = f"{quadrants[letter]} in {letter}" if quadrants else letter
        middle = corner[0] + width // 2
        draw_centred(draw, middle, titles_at[down], title, Font.BODY_BOLD, fill=LETTERS[letter])


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
        draw_cell(draw, (x, y), cell, fill)
        text = number_text(float(value), width - 3)
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
