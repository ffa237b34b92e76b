"""Arrays of texels in files: .npy, and pictures.

A picture's first row is its top and a texture's row 0 is its bottom, so pictures are flipped when
they are read and when they are written. Channels range from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.array_files import read_npy, read_with
from gpgpu_legacy.api.matrices import write_npy
from gpgpu_legacy.api.pictures import FORMATS, read_colours
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.outputs import check_writable, write_whole

PICTURES = tuple(FORMATS)


def read_texels(path: Path) -> NDArray[Any]:
    """An array from a .npy file, or a picture as (H, W, 4) float32, its bottom row first.

    Raises InputError, in one line, if the file is missing, damaged or of another kind.
    """
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        return np.ascontiguousarray(read_with(path, read_colours, "a picture")[::-1])
    if suffix == ".npy":
        return read_with(path, read_npy, "an array")
    raise InputError(
        f"{path} is not an array or a picture; give one of .npy, {', '.join(PICTURES)}"
    )


def texel_writer(path: Path, buffers: int = 1) -> Callable[[F32], None]:
    """A function that writes (H, W, 4) float32 to that path; the path is checked at once.

    .npy holds all numbers. .png shows r, g and b as a window would: clamped to 0 … 1, NaN as 0, the
    last row at the top. Raises InputError for another suffix, a missing folder, or a picture of
    several buffers.
    """
    writers = {".npy": write_npy, ".png": _write_picture}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise InputError(
            f"{path} does not name a format for pixels; let it end in one of {', '.join(writers)}"
        )
    if buffers > 1 and writer is _write_picture:
        raise InputError(f"{path} holds one picture, but there are {buffers} buffers; give .npy")
    check_writable(path)
    return lambda texels: write_whole(path, lambda to: writer(to, texels))


def _write_picture(to: IO[bytes], texels: F32) -> None:
    from PIL import Image

    shown = np.clip(np.nan_to_num(texels[::-1, :, :3], nan=0.0), 0.0, 1.0) * 255.0
    Image.fromarray(np.round(shown).astype(np.uint8)).save(to, "PNG")
