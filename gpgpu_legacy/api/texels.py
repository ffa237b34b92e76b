"""Arrays of texels in files: .npy, and pictures.

A picture's first row is its top and a texture's row 0 is its bottom, so pictures are flipped when
they are read and when they are written. Channels range from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.array_files import read_npy, read_with
from gpgpu_legacy.api.matrices import write_npy
from gpgpu_legacy.api.pictures import FORMATS, MOST_PIXELS, read_colours
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import Write, check_writable, write_whole
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.present.animation import enlarged, texel_picture

PICTURES = tuple(FORMATS)
_WRITTEN = (".npy", ".png")


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


def texel_writer(path: Path, buffers: int = 1, scale: int | None = None) -> Callable[[F32], None]:
    """A function that writes (H, W, 4) float32 to that path; the path is checked at once.

    .npy holds all numbers. .png shows r, g and b as a window would: clamped to 0 … 1, NaN as 0, the
    last row at the top, each texel as scale × scale pixels. Raises InputError for another suffix, a
    missing folder, a picture of several buffers and an enlarged array; the function does for a
    picture of more than MOST_PIXELS.
    """
    suffix = path.suffix.lower()
    if suffix not in _WRITTEN:
        raise InputError(
            f"{path} does not name a format for pixels; let it end in one of {', '.join(_WRITTEN)}"
        )
    is_picture = suffix == ".png"
    if buffers > 1 and is_picture:
        raise InputError(f"{path} holds one picture, but there are {buffers} buffers; give .npy")
    if scale is not None:
        as_positive("scale", scale)
        if not is_picture:
            raise InputError(f"{path} holds numbers, which --scale does not enlarge; give .png")
    check_writable(path)
    if not is_picture:
        return lambda texels: write_whole(path, lambda to: write_npy(to, texels))
    return lambda texels: write_whole(path, png_of(texels, scale or 1))


def png_of(texels: F32, scale: int = 1) -> Write:
    """What fills a file with texels as a PNG, as `texel_picture` shows them.

    scale: pixels along each side of a texel. InputError for more than MOST_PIXELS.
    """
    from PIL import Image

    height, width = (scale * side for side in texels.shape[:2])
    if scale > 1 and width * height > MOST_PIXELS:
        raise InputError(
            f"a picture of {width}×{height} pixels is too large; enlarge it less: at most "
            f"{MOST_PIXELS} pixels are written"
        )
    picture = enlarged(texel_picture(texels), scale)
    return lambda to: Image.fromarray(picture).save(to, "PNG")
