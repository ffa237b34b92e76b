"""Rectangles drawn with texture coordinates as a paper prints them, at its corners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.programs import run_program
from gpgpu_legacy.papers.derive.inputs import Inputs
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.runtime.registry import reference

_COPY = "!!ARBfp1.0 TEX result.color, fragment.texcoord[0], texture[0], RECT; END"


@derivation
def wrong_texels(
    inputs: Inputs, *, corners: Sequence[str], draws: str, rows: int, columns: int, edges: bool
) -> Value:
    """Elements that come out wrong where a rectangle is textured with an m×n matrix.

    corners: row and column at the four vertices, as printed, such as `m - 1, i`; clockwise from the
    upper left. draws: what should appear, `matrix`, `transpose`, or `column i` or `row i`
    everywhere, for each i in turn. edges: put the corners at the edges of the outer texels, m and n
    for m - 1 and n - 1, and i at a texel's centre, i + 1/2.
    """
    matrix = np.arange(1.0, rows * columns + 1.0, dtype=np.float32).reshape(rows, columns)
    pictures = {
        "matrix": [matrix],
        "transpose": [matrix.T],
        "column i": [np.tile(column[:, None], columns) for column in matrix.T],
        "row i": [np.tile(row, (rows, 1)) for row in matrix],
    }
    return sum(
        int(np.sum(_drawn(matrix, corners, expected.shape, i, edges) != expected))
        for i, expected in enumerate(pictures[draws])
    )


def _drawn(
    matrix: NDArray[np.float32], corners: Sequence[str], shape: tuple[int, ...], i: int, edges: bool
) -> NDArray[np.float32]:
    """The rectangle, row 0 first, with its corners at these coordinates of the matrix."""
    height, width = shape
    vertices = [_coordinates(corner, matrix.shape, i, edges) for corner in corners]
    texcoords = {0: [(column, row, 0.0, 1.0) for row, column in vertices]}
    picture = run_program(
        _COPY, width, height, {0: ("RECT", matrix)}, texcoords=texcoords, executor=reference().name
    )
    return picture[:, :, 0]


def _coordinates(corner: str, shape: tuple[int, ...], i: int, edges: bool) -> tuple[float, float]:
    """The row and the column that a text such as `m - 1, i` means."""
    rows, columns = shape
    inset = 0 if edges else 1
    values = {"0": 0.0, "m - 1": rows - inset, "n - 1": columns - inset, "i": i + 0.5 * edges}
    row, column = (float(values[name]) for name in corner.split(", "))
    return row, column
