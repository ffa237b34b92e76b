"""Arrays in untrusted files: .npy, .csv, .mtx and pictures.

A file's size in memory is found from its header or a scan before memory is taken for it.
"""

from __future__ import annotations

import io
import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.arguments import as_positive, shape_in_words
from gpgpu_legacy.errors import InputError, reason_of
from gpgpu_legacy.figures.pictures import FORMATS, is_picture, png_of, read_picture
from gpgpu_legacy.files import check_distinct, check_writable, open_data, write_whole
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.memory import require_memory
from gpgpu_legacy.pipeline.inputs import matrices_of
from gpgpu_legacy.plan.plan import Plan

Array = NDArray[np.generic]
Reader = Callable[[BinaryIO, Path], Array]

MOST_ELEMENTS = 2**30
"""Elements of an array in a file: a matrix as wide and high as the largest texture, 32768."""

MOST_ELEMENTS_OF_TEXT = 2**28
"""Elements of a .csv or .mtx, a sparse one's zeros among them: a matrix of 16384². As double, which
such files are read as, they take 2 GiB."""

MOST_BYTES_OF_TEXT = 2**32
"""Bytes of a .csv or .mtx: 16 for each element."""

LONGEST_LINE = 2**26
"""Bytes of a line of a .csv, or in the header of a .mtx: 2048 for each of 32768 columns."""


def read_with(path: Path, reader: Reader, what: str) -> Array:
    """Read a file. Raises InputError, in one line, if it is missing or damaged.

    what: the expected content, in words.
    """
    try:
        with open_data(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # readers warn about oddities; the result is checked
            return reader(file, path)
    except InputError:
        raise
    except OSError as error:
        if error.strerror is None:  # of a reader, about the file's content
            raise InputError(f"{path} cannot be read as {what}: {error}") from None
        raise InputError(f"{path} cannot be read: {reason_of(error)}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8") from None
    except MemoryError:
        raise InputError(f"{path} describes {what} too large for this machine's memory") from None
    except Exception as error:  # readers raise errors of any type on a damaged file
        reason = str(error).strip().splitlines()
        why = (reason[0] if reason else type(error).__name__).split("; use `usecols`")[0]
        raise InputError(f"{path} cannot be read as {what}: {why}") from None


def check_elements(path: Path, shape: tuple[int, ...], most: int, bytes_each: int) -> None:
    """Raise InputError if an array of that shape is too large, for this package or this machine."""
    count, sizes = math.prod(shape), "×".join(map(str, shape))
    if count > most:
        raise InputError(f"{path} describes {sizes} elements; at most {most} are read")
    require_memory(
        count * bytes_each, f"an array of {sizes} elements in {path}", "give a smaller one"
    )


# .npy --------------------------------------------------------------------------------------------

_NUMBERS = "biufc"
"""The kinds of types that are numbers, in NumPy's letters."""


def read_npy(_: BinaryIO, path: Path) -> Array:
    """An array of numbers from a .npy file; it is mapped, so that its header is checked first."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise InputError(f"{path} is no .npy file that numpy.save wrote: {error}") from None
    if array.dtype.kind not in _NUMBERS:
        raise InputError(f"{path} holds texts, dates or records; give numbers")
    check_elements(path, array.shape, MOST_ELEMENTS, array.dtype.itemsize)
    return np.array(array)


# Text --------------------------------------------------------------------------------------------


def read_csv(file: BinaryIO, path: Path) -> Array:
    """A matrix from lines of numbers with commas between them."""
    check_text(file, path)
    # Given the path, NumPy reads in blocks; given lines, it takes several times as long.
    matrix = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    if not matrix.size:
        raise InputError(f"{path} is empty; give a row of numbers in each line")
    return matrix


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def check_text(file: BinaryIO, path: Path) -> None:
    """Raise InputError if a file, one of its lines or its matrix is too large."""
    if _size(file) > MOST_BYTES_OF_TEXT:
        raise InputError(f"{path} has more than {MOST_BYTES_OF_TEXT} bytes; write it as .npy")
    if _size(file) > LONGEST_LINE:  # a smaller one is harmless, whatever it contains
        _check_lines(file, path)


_BLOCK = 2**20


def _check_lines(file: BinaryIO, path: Path) -> None:
    """Raise InputError if a line, or the matrix, is too large: scans commas and ends of lines."""
    elements = open_line = 0
    while block := file.read(_BLOCK):
        first = block.find(b"\n")
        if open_line + (len(block) if first < 0 else first) > LONGEST_LINE:
            raise InputError(f"{path} has a line of more than {LONGEST_LINE} bytes")
        open_line = open_line + len(block) if first < 0 else len(block) - block.rfind(b"\n")
        signs = np.frombuffer(block, np.uint8)
        elements += sum(int(np.count_nonzero(signs == ord(sign))) for sign in ",\n")
        check_elements(path, (elements,), MOST_ELEMENTS_OF_TEXT, 8)


# Matrix Market: NIST's exchange format, of real matrices ----------------------------------------

_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_MIRRORED = {"general": 0.0, "symmetric": 1.0, "hermitian": 1.0, "skew-symmetric": -1.0}
"""The factor of an element below the diagonal for its mirror above; 0 if it is not mirrored."""


@dataclass(frozen=True)
class _Header:
    """The part before the entries. lines: its lines, including comments and empty ones."""

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
    """A matrix; elements that a sparse one leaves out are 0."""
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
    # One entry more than promised, so that a surplus is noticed.
    entries = np.loadtxt(
        path, skiprows=header.lines, max_rows=header.entries + 1, comments=None, ndmin=2
    ).reshape(-1, header.numbers)
    if len(entries) != header.entries:
        is_cut = len(entries) < header.entries
        there = f"{len(entries)} follow" if is_cut else "more follow"
        raise _damaged(path, f"its header promises {header.entries} entries, and {there}")
    values = entries[:, -1] if header.has_values else np.ones(len(entries))
    mirrored, sizes = _MIRRORED[header.symmetry], (header.rows, header.columns)
    if not header.is_sparse:  # column by column
        return np.ascontiguousarray(values.reshape(sizes[::-1]).T)
    # Entries (row, column, value), which count from 1; equal ones are added.
    places = entries[:, :2]
    if not ((places >= 1) & (places <= sizes) & (places == np.floor(places))).all():
        raise _damaged(path, "an entry lies outside of the matrix")
    i, j = (places.astype(np.int64) - 1).T
    matrix = np.zeros(sizes)
    np.add.at(matrix, (i, j), values)
    if mirrored:
        beside = i != j
        np.add.at(matrix, (j[beside], i[beside]), mirrored * values[beside])
    return matrix


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
    is_plain = symmetry == "general" and not is_pattern
    if field not in _FIELDS or symmetry not in _MIRRORED or not (is_sparse or is_plain):
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
    entries = int(sizes[2]) if is_sparse else rows * columns
    return _Header(is_sparse, not is_pattern, symmetry, rows, columns, entries, lines)


# Reading and writing -----------------------------------------------------------------------------

_READERS: dict[str, Reader] = {
    ".npy": read_npy,
    ".csv": read_csv,
    ".mtx": read_mtx,
    **dict.fromkeys(FORMATS, read_picture),
}


def read_array(path: Path, axes: int = 3) -> Array:
    """An array from a .npy, .csv or .mtx file, or from a picture: 0 is black, and 1 white.

    axes: the number wanted. For a picture, three are (H, W, 4), and two the grey of (H, W), with
    the lowest row first; for a matrix, one is all of its elements. Raises InputError, in one line,
    if the file is missing, damaged or of another kind.
    """
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise InputError(f"{path} is not an array; give one of {', '.join(_READERS)}")
    what = "a picture" if suffix in FORMATS else "an array"
    array = read_with(path, _READERS[suffix], what)
    if suffix in FORMATS and axes < 3:
        if (array[..., :1] != array[..., 1:3]).any():
            raise InputError(f"{path} is a picture with colours; convert it to greyscale first")
        return array[..., 0]
    return array.reshape(-1) if axes == 1 and suffix != ".npy" else array


def array_writer(
    path: Path, shape: tuple[int, ...], what: str = "the array", scale: int | None = None
) -> Callable[[F32], None]:
    """A function that writes an array of that shape to that path; the path is checked at once.

    .npy holds every shape, .csv and .mtx matrices. .png shows (H, W) in grey and (H, W, 4) in r, g
    and b, as a window would: clamped to 0 … 1, NaN as 0, the last row at the top, each texel as
    scale × scale pixels. what: the array in messages. Raises InputError for another suffix, a
    missing folder, and a scale without a picture.
    """
    suffix = path.suffix.lower()
    writers: dict[str, Callable[[IO[bytes], F32], object]] = {".npy": np.save}
    if len(shape) == 2:
        writers |= {".csv": _write_csv, ".mtx": _write_mtx}
    if is_picture(shape):
        writers[".png"] = lambda to, array: png_of(array, scale or 1)(to)
    if suffix not in writers:
        raise InputError(
            f"{path} cannot hold {what}, which is {shape_in_words(shape)}; let it end in one of "
            f"{', '.join(writers)}"
        )
    if scale is not None:
        as_positive("scale", scale)
        if suffix != ".png":
            raise InputError(f"{path} holds numbers, which --scale does not enlarge; give .png")
    check_writable(path)
    return lambda array: write_whole(path, lambda to: writers[suffix](to, array))


def _write_csv(to: IO[bytes], matrix: F32) -> None:
    np.savetxt(to, matrix, delimiter=",", fmt="%.9g")


def _write_mtx(to: IO[bytes], matrix: F32) -> None:
    rows, columns = matrix.shape
    to.write(f"%%MatrixMarket matrix array real general\n{rows} {columns}\n".encode())
    np.savetxt(to, matrix.T.ravel(), fmt="%.9g")


# Of plans ----------------------------------------------------------------------------------------


def read_inputs(plan: Plan, files: Mapping[str, Path]) -> dict[str, NDArray[Any]]:
    """The plan's inputs from files, by name.

    Raises InputError for a name that is not an input's, and for files that cannot be read.
    """
    matrices = matrices_of(plan, "input", plan.operands, files)
    return {name: read_array(path, len(matrices[name].array_shape)) for name, path in files.items()}


def output_writers(
    plan: Plan, files: Mapping[str, Path]
) -> Callable[[Mapping[str, F32]], list[Path]]:
    """A function that writes outputs to these files, by name; they are checked at once."""
    matrices = matrices_of(plan, "output", plan.results, files)
    writers = {
        name: array_writer(path, matrices[name].array_shape, name) for name, path in files.items()
    }
    check_distinct(files)

    def write(outputs: Mapping[str, F32]) -> list[Path]:
        for name, writer in writers.items():
            writer(outputs[name])
        return list(files.values())

    return write
