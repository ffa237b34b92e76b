"""The reader of .mtx files: NIST's Matrix Market exchange format, real matrices."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.array_files import (
    LONGEST_LINE,
    MOST_ELEMENTS_OF_TEXT,
    Array,
    check_elements,
    check_text,
)
from gpgpu_legacy.errors import InputError

F64 = NDArray[np.float64]

_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_MIRRORED = {"general": 0.0, "symmetric": 1.0, "hermitian": 1.0, "skew-symmetric": -1.0}
"""What an element below the diagonal is multiplied by above it; 0 where it is not repeated."""


@dataclass(frozen=True)
class _Header:
    """What comes before the entries. lines: how many these are, with comments and empty ones."""

    is_sparse: bool
    has_values: bool
    symmetry: str
    rows: int
    columns: int
    entries: int
    lines: int

    @property
    def numbers(self) -> int:
        """Of each entry: the row, the column and the value, or some of these."""
        return 2 * self.is_sparse + self.has_values


def read_mtx(file: BinaryIO, path: Path) -> Array:
    """A matrix; what a sparse one leaves out is 0."""
    check_text(file, path)
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8")
    header = _header(text, path)
    check_elements(path, (header.rows, header.columns), MOST_ELEMENTS_OF_TEXT, 8)
    check_elements(path, (header.entries, header.numbers), 3 * MOST_ELEMENTS_OF_TEXT, 8)
    first = next((line for line in iter(lambda: _line(text, path), "") if line.strip()), "")
    found = len(first.split())
    if first and found != header.numbers:
        raise _damaged(path, f"its entries have {found} numbers, and not {header.numbers}")
    # One entry more than there are, so that none too many is overlooked.
    entries = np.loadtxt(
        path, skiprows=header.lines, max_rows=header.entries + 1, comments=None, ndmin=2
    ).reshape(-1, header.numbers)
    if len(entries) != header.entries:
        is_cut = len(entries) < header.entries
        there = f"{len(entries)} follow" if is_cut else "more follow"
        raise _damaged(path, f"its header promises {header.entries} entries, and {there}")
    return _sparse(entries, header, path) if header.is_sparse else _dense(entries, header)


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} cannot be read as a matrix: {why}")


def _line(text: io.TextIOWrapper, path: Path) -> str:
    line = text.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise _damaged(path, f"it has a line of more than {LONGEST_LINE} characters")
    return line


def _header(text: io.TextIOWrapper, path: Path) -> _Header:
    match _line(text, path).lower().split():
        case ["%%matrixmarket", "matrix", "coordinate" | "array" as form, field, symmetry]:
            pass
        case _:
            raise _damaged(path, "it does not begin with %%MatrixMarket matrix and its kind")
    is_sparse, is_pattern = form == "coordinate", field == "pattern"
    if field not in _FIELDS or symmetry not in _MIRRORED or (is_pattern and not is_sparse):
        raise _damaged(path, f"a matrix that is {form} {field} {symmetry} is none of real numbers")
    lines, line = 2, _line(text, path)
    while line and (not line.strip() or line.startswith("%")):
        lines, line = lines + 1, _line(text, path)
    sizes = line.split()
    if len(sizes) != 2 + is_sparse or not all(s.isdecimal() and len(s) < 20 for s in sizes):
        raise _damaged(path, f"its size has to be {2 + is_sparse} numbers that are whole")
    rows, columns = int(sizes[0]), int(sizes[1])
    if symmetry != "general" and rows != columns:
        raise _damaged(path, f"a {symmetry} matrix has as many rows as columns")
    if is_sparse:
        entries = int(sizes[2])
    elif symmetry == "general":
        entries = rows * columns
    else:
        entries = rows * (rows - 1 if symmetry == "skew-symmetric" else rows + 1) // 2
    return _Header(is_sparse, not is_pattern, symmetry, rows, columns, entries, lines)


def _sparse(entries: F64, header: _Header, path: Path) -> F64:
    """Entries (row, column, value), which count from 1; equal ones are added."""
    places, sizes = entries[:, :2], (header.rows, header.columns)
    if not ((places >= 1) & (places <= sizes) & (places == np.floor(places))).all():
        raise _damaged(path, "an entry lies outside of the matrix")
    i, j = (places.astype(np.int64) - 1).T
    values = entries[:, 2] if header.has_values else np.ones(len(entries))
    matrix = np.zeros(sizes)
    np.add.at(matrix, (i, j), values)
    mirrored = _MIRRORED[header.symmetry]
    if mirrored:
        beside = i != j
        np.add.at(matrix, (j[beside], i[beside]), mirrored * values[beside])
    return matrix


def _dense(entries: F64, header: _Header) -> F64:
    """Entries column by column; of a symmetric matrix from the diagonal, or below it, down."""
    values, mirrored = entries[:, 0], _MIRRORED[header.symmetry]
    if not mirrored:
        return np.ascontiguousarray(values.reshape(header.columns, header.rows).T)
    matrix = np.zeros((header.rows, header.columns))
    j, i = np.triu_indices(header.rows, 1 if mirrored < 0 else 0)
    matrix[j, i] = mirrored * values
    matrix[i, j] = values
    return matrix
