"""The one reader of pictures, which anyone may have made.

A file is opened by the reader that its suffix names and by no other, so that none of Pillow's many
is started by what is in a file. A picture's size is known from its header before it is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".bmp": "BMP",
    ".gif": "GIF",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".pgm": "PPM",
    ".ppm": "PPM",
}
"""Pillow's name of the format that a suffix stands for."""

MOST_PIXELS = 2**26
"""Of a picture: 8192². As float32, red, green, blue and alpha of these take 1 GiB."""

_ALLOWED = f"at most {MOST_PIXELS} are read"

_WHITES = {
    "1": 1.0,
    "L": 255.0,
    "I;16": 65535.0,
    "I;16L": 65535.0,
    "I;16B": 65535.0,
    "I": 65535.0,
    "F": 1.0,
}
"""The value of white in each of Pillow's modes that are grey."""


def read_grey(file: BinaryIO, path: Path) -> F32:
    """The grey of each pixel, (H, W), its top row first; InputError for a coloured picture."""
    with _opened(file, path) as image:
        grey = _grey(image)
        if grey is None:
            raise InputError(
                f"{path} is an image of mode {image.mode}; convert it to greyscale first"
            )
        return grey


def read_colours(file: BinaryIO, path: Path) -> F32:
    """Red, green, blue and alpha of each pixel, (H, W, 4), its top row first.

    A grey one has r = g = b.
    """
    with _opened(file, path) as image:
        if image.mode in ("1", "L") or (grey := _grey(image)) is None:
            texels = np.asarray(image.convert("RGBA")).astype(np.float32)
            texels /= np.float32(255.0)
            return texels
    texels = np.ones((*grey.shape, 4), np.float32)
    texels[..., :3] = grey[..., None]
    return texels


def _grey(image: Image) -> F32 | None:
    """None if the picture has colours."""
    white = _WHITES.get(image.mode)
    return None if white is None else np.asarray(image).astype(np.float32) / np.float32(white)


@contextmanager
def _opened(file: BinaryIO, path: Path) -> Iterator[Image]:
    """A picture of which the header is read: the first, where there are several."""
    from PIL import Image, UnidentifiedImageError

    kind = FORMATS[path.suffix.lower()]
    try:
        image = Image.open(file, formats=(kind,))
    except Image.DecompressionBombError:
        raise InputError(f"{path} is a picture beyond all sizes; {_ALLOWED}") from None
    except UnidentifiedImageError:
        raise InputError(
            f"{path} cannot be read as a picture: it is no {kind}, though it is called one"
        ) from None
    with image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            raise InputError(f"{path} is a picture of {width}×{height} pixels; {_ALLOWED}")
        yield image
