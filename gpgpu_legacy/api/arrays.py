"""Arrays in files: .npy, .csv, .mtx and pictures; the inputs and outputs of plans among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.array_files import Array, Reader, read_csv, read_npy, read_with
from gpgpu_legacy.api.matrix_market import read_mtx
from gpgpu_legacy.api.pictures import FORMATS, is_picture, png_of, read_picture
from gpgpu_legacy.arguments import as_positive, shape_in_words
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_distinct, check_writable, write_whole
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.inputs import matrices_of
from gpgpu_legacy.plan.plan import Plan

_READERS: dict[str, Reader] = {
    ".npy": read_npy,
    ".csv": read_csv,
    ".mtx": read_mtx,
    **dict.fromkeys(FORMATS, read_picture),
}


def read_array(path: Path, axes: int = 3) -> Array:
    """An array from a .npy, .csv or .mtx file, or from a picture: 0 is black, and 1 white.

    axes: how many are wanted. Of a picture, three are (H, W, 4), and two the grey of (H, W), with
    the lowest row first; of a matrix, one is all of its elements.
    Raises InputError, in one line, if the file is missing, damaged or of another kind.
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
    missing folder, and a scale of what is no picture.
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
