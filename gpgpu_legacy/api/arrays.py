"""Arrays in untrusted files: .npy, .csv and pictures.

A file's size in memory is found from its header or a scan before memory is taken for it.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.figures.pictures import FORMATS, is_picture, png_of, read_picture
from gpgpu_legacy.errors import InputError, as_positive, reason_of, shape_in_words
from gpgpu_legacy.files import check_writable, open_data, write_whole
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.inputs import matrices_of
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import Plan

Array = NDArray[np.generic]
Reader = Callable[[BinaryIO, Path], Array]

MOST_ELEMENTS = 2**30
"""The most elements of an array in a file: a matrix of the largest texture's size, 32768²."""

MOST_BYTES_OF_TEXT = 2**26
"""The most bytes of a .csv: 16 for each element of a 2048×2048 matrix. A single line of a larger
file could take gigabytes to read.
"""


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
    except Exception as error:  # readers raise errors of any type on a damaged file
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"{path} cannot be read: {reason_of(error)}") from None
        reason = str(error).strip().splitlines()
        why = (reason[0] if reason else type(error).__name__).split("; use `usecols`")[0]
        raise InputError(f"{path} cannot be read as {what}: {why}") from None


# .npy --------------------------------------------------------------------------------------------

_NUMBERS = "biufc"
"""NumPy's letters for the kinds of numbers."""


def read_npy(_: BinaryIO, path: Path) -> Array:
    """Read an array of numbers from a .npy file.

    The file is mapped, so that its header is checked before memory is taken.
    """
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise InputError(f"{path} is no .npy file that numpy.save wrote: {error}") from None
    if array.dtype.kind not in _NUMBERS:
        raise InputError(f"{path} holds texts, dates or records; give numbers")
    count, sizes = math.prod(array.shape), "×".join(map(str, array.shape))
    if count > MOST_ELEMENTS:
        raise InputError(f"{path} describes {sizes} elements; at most {MOST_ELEMENTS} are read")
    what = f"an array of {sizes} elements in {path}"
    require_memory(count * array.dtype.itemsize, what, "give a smaller one")
    return np.array(array)


# .csv --------------------------------------------------------------------------------------------


def read_csv(file: BinaryIO, path: Path) -> Array:
    """A matrix from lines of numbers with commas between them."""
    if os.fstat(file.fileno()).st_size > MOST_BYTES_OF_TEXT:
        raise InputError(f"{path} has more than {MOST_BYTES_OF_TEXT} bytes; write it as .npy")
    # Given the path, NumPy reads in blocks; given lines, it takes several times as long.
    matrix = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    if not matrix.size:
        raise InputError(f"{path} is empty; give a row of numbers in each line")
    return matrix


# Reading and writing -----------------------------------------------------------------------------

_READERS: dict[str, Reader] = {
    ".npy": read_npy,
    ".csv": read_csv,
    **dict.fromkeys(FORMATS, read_picture),
}


def read_array(path: Path, axes: int = 3) -> Array:
    """Read an array from a .npy or .csv file, or from a picture: 0 is black, and 1 white.

    axes: the number wanted. A picture gives (H, W, 4) for 3 axes, else its grey (H, W), the lowest
    row first. A .csv gives a matrix, or for 1 axis all of its elements; a .npy is taken as it is.
    Raises InputError for a file that is missing, damaged or of another kind, and for colours where
    grey is wanted.
    """
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise InputError(f"{path} is not an array; give one of {', '.join(_READERS)}")
    what = "a picture" if suffix in FORMATS else "an array"
    array = read_with(path, _READERS[suffix], what)
    if suffix in FORMATS and axes < 3:
        if not np.array_equal(array[..., :2], array[..., 1:3], equal_nan=True):
            raise InputError(f"{path} is a picture with colours; convert it to greyscale first")
        return array[..., 0]
    return array.reshape(-1) if axes == 1 and suffix != ".npy" else array


def array_writer(
    path: Path, shape: tuple[int, ...], what: str = "the array", scale: int | None = None
) -> Callable[[F32], None]:
    """Return a function that writes an array of this shape to a path; the path is checked at once.

    .npy holds any shape, .csv a matrix. .png shows (H, W) in grey and (H, W, 4) in r, g and b, as a
    window would: clamped to 0 … 1, NaN as 0, the last row at the top, each texel as scale × scale
    pixels. what: the array in messages. Raises InputError for another suffix, a missing folder, and
    a scale without a picture.
    """
    suffix = path.suffix.lower()
    writers: dict[str, Callable[[IO[bytes], F32], object]] = {".npy": np.save}
    if len(shape) == 2:
        writers[".csv"] = lambda to, matrix: np.savetxt(to, matrix, delimiter=",", fmt="%.9g")
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


# Of plans ----------------------------------------------------------------------------------------


def read_inputs(plan: Plan, files: Mapping[str, Path]) -> dict[str, NDArray[Any]]:
    """The plan's inputs from files, by name.

    Raises InputError for a name that no input has, and for files that cannot be read.
    """
    matrices = matrices_of(plan, "input", plan.operands, files)
    return {name: read_array(path, len(matrices[name].array_shape)) for name, path in files.items()}


def output_writers(plan: Plan, files: Mapping[str, Path]) -> dict[str, Callable[[F32], None]]:
    """For each output, by name, a function that writes it; the paths are checked at once."""
    matrices = matrices_of(plan, "output", plan.results, files)
    return {
        name: array_writer(path, matrices[name].array_shape, name) for name, path in files.items()
    }
