"""Matrices in files: .npy, .csv, .mtx and greyscale images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.array_files import Array, Reader, read_csv, read_npy, read_with
from gpgpu_legacy.api.matrix_market import read_mtx
from gpgpu_legacy.api.pictures import FORMATS, read_grey
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_writable, write_whole


def read_matrix(path: Path) -> Array:
    """A matrix from a .npy, .csv or .mtx file, or from a greyscale image (0 black, 1 white).

    Raises InputError, in one line, if the file is missing, damaged or of another kind.
    """
    readers: dict[str, Reader] = {
        ".npy": read_npy,
        ".csv": read_csv,
        ".mtx": read_mtx,
        **dict.fromkeys(FORMATS, read_grey),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} is not a matrix; give one of {', '.join(readers)}")
    return read_with(path, reader, "a matrix")


def matrix_writer(path: Path) -> Callable[[NDArray[np.float32]], None]:
    """A function that writes a matrix to that path; the path is checked before any computation.

    The suffix decides the format: .npy, .csv, .mtx, or .png (0 black, 1 white, clamped).
    Raises InputError for another suffix or a missing folder.
    """
    writers: dict[str, Callable[[IO[bytes], NDArray[np.float32]], None]] = {
        ".npy": write_npy,
        ".csv": lambda to, matrix: np.savetxt(to, matrix, delimiter=",", fmt="%.9g"),
        ".mtx": _write_mtx,
        ".png": _write_png,
    }
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise InputError(
            f"{path} does not name a format for matrices; let it end in one of {', '.join(writers)}"
        )
    check_writable(path)
    return lambda matrix: write_whole(path, lambda to: writer(to, matrix))


def write_npy(to: IO[bytes], matrix: NDArray[np.float32]) -> None:
    """Write an array as .npy; NumPy would add a suffix to the path X.NPY."""
    np.save(to, matrix)


def _write_mtx(to: IO[bytes], matrix: NDArray[np.float32]) -> None:
    rows, columns = matrix.shape
    to.write(f"%%MatrixMarket matrix array real general\n{rows} {columns}\n".encode())
    np.savetxt(to, matrix.T.ravel(), fmt="%.9g")


def _write_png(to: IO[bytes], matrix: NDArray[np.float32]) -> None:
    from PIL import Image

    if not matrix.size:
        raise InputError(
            f"a {matrix.shape[0]}×{matrix.shape[1]} product has no pixels; write it as .npy"
        )
    grey = np.clip(np.nan_to_num(matrix, nan=0.0), 0.0, 1.0) * 255.0
    Image.fromarray(np.round(grey).astype(np.uint8)).save(to, "PNG")
