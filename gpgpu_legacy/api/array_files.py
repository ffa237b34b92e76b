"""Arrays read from .npy and .csv files that anyone may have written, and the limits of all.

What a file asks for is known before memory is taken for it, from its header or from a look at it.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError, reason_of
from gpgpu_legacy.files import open_data
from gpgpu_legacy.memory import require_memory

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

    what: what the file should hold, in words.
    """
    try:
        with open_data(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # readers tell of oddities; what comes out is checked
            return reader(file, path)
    except InputError:
        raise
    except OSError as error:
        if error.strerror is None:  # of a reader, about what is in the file
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
    """InputError where an array of that shape is too large, for this package or this machine."""
    count, sizes = math.prod(shape), "×".join(map(str, shape))
    if count > most:
        raise InputError(f"{path} describes {sizes} elements; at most {most} are read")
    require_memory(
        count * bytes_each, f"an array of {sizes} elements in {path}", "give a smaller one"
    )


# .npy --------------------------------------------------------------------------------------------

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # but for names of fields, which are refused
}
_NUMBERS = "biufc"
"""The kinds of types that are numbers, in NumPy's letters."""


def read_npy(file: BinaryIO, path: Path) -> Array:
    """An array of numbers from a .npy file; NumPy raises errors of many types for a damaged one."""
    if file.read(6) != b"\x93NUMPY":  # NumPy would suggest unpickling it
        raise InputError(
            f"{path} is not a .npy file, though it is called one; write it with numpy.save"
        )
    file.seek(0)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise InputError(f"{path} is a .npy file of version {version}, which is not known")
    shape, _, dtype = _HEADERS[version](file)
    wrong = _wrong_header(shape, dtype)
    if wrong:
        raise InputError(f"{path} cannot be read as an array: {wrong}")
    check_elements(path, shape, MOST_ELEMENTS, dtype.itemsize)
    promised = math.prod(shape) * dtype.itemsize
    there = _size(file) - file.tell()
    if promised > there:
        raise InputError(
            f"{path} is cut off: its header promises {promised} bytes, and {there} follow"
        )
    file.seek(0)
    array: Array = np.load(file, allow_pickle=False)
    return array


def _wrong_header(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> str:
    """What is wrong with the kind of an array; empty if it has numbers."""
    if dtype.hasobject:
        return "it holds Python objects; give numbers"
    if dtype.kind not in _NUMBERS:
        return "it holds texts, dates or records; give numbers"
    return "a side of it is negative" if any(side < 0 for side in shape) else ""


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
    """InputError where a file, a line of it or its matrix is too large."""
    if _size(file) > MOST_BYTES_OF_TEXT:
        raise InputError(f"{path} has more than {MOST_BYTES_OF_TEXT} bytes; write it as .npy")
    if _size(file) > LONGEST_LINE:  # a smaller one is harmless, whatever is in it
        _check_lines(file, path)


_BLOCK = 2**20


def _check_lines(file: BinaryIO, path: Path) -> None:
    """InputError where a line, or the matrix, is too large: a look at commas and ends of lines."""
    elements = open_line = 0
    while block := file.read(_BLOCK):
        first = block.find(b"\n")
        if open_line + (len(block) if first < 0 else first) > LONGEST_LINE:
            raise InputError(f"{path} has a line of more than {LONGEST_LINE} bytes")
        open_line = open_line + len(block) if first < 0 else len(block) - block.rfind(b"\n")
        signs = np.frombuffer(block, np.uint8)
        elements += sum(int(np.count_nonzero(signs == ord(sign))) for sign in ",\n")
        check_elements(path, (elements,), MOST_ELEMENTS_OF_TEXT, 8)
