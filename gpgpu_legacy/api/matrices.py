"""Matrices in files: .npy, .csv, .mtx and greyscale images."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.outputs import check_writable, write_whole

Array = NDArray[np.generic]

_IMAGES = (".png", ".bmp", ".gif", ".jpg", ".jpeg", ".pgm", ".tif", ".tiff")
_GREY_MODES = {"1": 1.0, "L": 255.0, "I;16": 65535.0, "F": 1.0}


def read_matrix(path: Path) -> Array:
    """A matrix from a .npy, .csv or .mtx file, or from a greyscale image (0 black, 1 white).

    Raises InputError, in one line, if the file is missing, damaged or of another kind.
    """
    readers: dict[str, Callable[[Path], Array]] = {
        ".npy": read_npy,
        ".csv": _read_csv,
        ".mtx": _read_mtx,
        **dict.fromkeys(_IMAGES, _read_image),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} is not a matrix; give one of {', '.join(readers)}")
    return read_with(path, reader, "a matrix")


def read_with(path: Path, reader: Callable[[Path], Array], what: str) -> Array:
    """Read a file. Raises InputError, in one line, if it is missing or damaged.

    what: what the file should hold, in words.
    """
    try:
        return reader(path)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        if error.strerror is None:  # of a reader, about what is in the file
            raise InputError(f"{path} cannot be read as {what}: {error}") from None
        raise InputError(f"{path} cannot be read: {error.strerror.lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8") from None
    except MemoryError:
        raise InputError(f"{path} describes {what} too large for this machine's memory") from None
    except Exception as error:  # readers raise errors of any type on a damaged file
        reason = str(error).strip().splitlines()
        why = (reason[0] if reason else type(error).__name__).split("; use `usecols`")[0]
        if "allow_pickle" in why:
            why = "it holds Python objects; give numbers"
        raise InputError(f"{path} cannot be read as {what}: {why}") from None


def read_npy(path: Path) -> Array:
    """An array of numbers from a .npy file; NumPy raises errors of many types for a damaged one."""
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":  # NumPy would suggest unpickling it
            raise InputError(
                f"{path} is not a .npy file, though it is called one; write it with numpy.save"
            )
    array: Array = np.load(path, allow_pickle=False)
    return array


def _read_csv(path: Path) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an empty file
        matrix = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    if not matrix.size:
        raise InputError(f"{path} is empty; give a row of numbers in each line")
    return matrix


def _read_mtx(path: Path) -> Array:
    from scipy.io import mmread

    matrix = mmread(path)
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def _read_image(path: Path) -> Array:
    from PIL import Image

    with Image.open(path) as image:
        white = _GREY_MODES.get(image.mode)
        if white is None:
            raise InputError(
                f"{path} is an image of mode {image.mode}; convert it to greyscale first"
            )
        return np.asarray(image, np.float32) / np.float32(white)


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
    from scipy.io import mmwrite

    mmwrite(to, matrix)


def _write_png(to: IO[bytes], matrix: NDArray[np.float32]) -> None:
    from PIL import Image

    if not matrix.size:
        raise InputError(
            f"a {matrix.shape[0]}×{matrix.shape[1]} product has no pixels; write it as .npy"
        )
    grey = np.clip(np.nan_to_num(matrix, nan=0.0), 0.0, 1.0) * 255.0
    Image.fromarray(np.round(grey).astype(np.uint8)).save(to, "PNG")
