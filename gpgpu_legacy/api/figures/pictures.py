"""Pictures: the one reader of untrusted picture files, and the drawing of texels.

A file is opened only by the reader that its suffix names, so that its content cannot start another
of Pillow's many readers. A picture's size is known from its header before it is decoded. A
picture's first row is its top and a texture's row 0 its bottom, so pictures are flipped when they
are read and when they are written.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.files import Write, write_whole
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.inputs import as_numbers
from gpgpu_legacy.pipeline.storage import CHANNELS
from gpgpu_legacy.present.animation import enlarged, texel_picture

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
"""Pillow's name for the format of each suffix."""

MOST_PIXELS = 2**26
"""The most pixels of a picture: 8192². As float32 with four channels, they take 1 GiB."""

_ALLOWED = f"at most {MOST_PIXELS} are read"

_DEEP = {"I;16": 65535.0, "I;16L": 65535.0, "I;16B": 65535.0, "I": 65535.0, "F": 1.0}
"""The value of white in Pillow's grey modes of more than eight bits."""

_READABLE = 256
"""The most pixels along the longer side of a small picture that is enlarged."""


# Reading -----------------------------------------------------------------------------------------


def read_picture(file: BinaryIO, path: Path) -> F32:
    """Read the red, green, blue and alpha of pixels, from 0 to 1: (H, W, 4), the bottom row first.

    Of several pictures in a file, it reads the first. A grey picture has r = g = b.
    """
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
        white = _DEEP.get(image.mode)
        pixels = np.asarray(image if white else image.convert("RGBA"))[::-1].astype(np.float32)
    pixels /= np.float32(white or 255.0)
    if white is None:
        return pixels
    texels = np.ones((height, width, 4), np.float32)
    texels[..., :3] = pixels[..., None]
    return texels


# Writing -----------------------------------------------------------------------------------------


def png_of(texels: F32, scale: int = 1) -> Write:
    """A function that writes texels into a file as a PNG, drawn by `texel_picture`.

    scale: pixels along each side of a texel. Raises InputError for no pixels, and if the
    enlarged picture has more than MOST_PIXELS.
    """
    from PIL import Image

    height, width = (scale * side for side in texels.shape[:2])
    if not texels.size:
        raise InputError(f"an array of {width}×{height} has no pixels; write it as .npy")
    if scale > 1 and width * height > MOST_PIXELS:
        raise InputError(
            f"a picture of {width}×{height} pixels is too large; enlarge it less: at most "
            f"{MOST_PIXELS} pixels are written"
        )
    picture = enlarged(texel_picture(texels), scale)
    return lambda to: Image.fromarray(picture).save(to, "PNG")


class Picture:
    """A picture of texels; a notebook shows it. `picture` makes one.

    width, height: in texels. scale: pixels along each side of a texel.
    """

    def __init__(self, texels: F32, scale: int) -> None:
        self._png, self.scale = png_of(texels, scale), scale
        self.height, self.width = texels.shape[:2]

    def __repr__(self) -> str:
        return (
            f"<Picture of {self.width}×{self.height} texels, {self.scale}×{self.scale} pixels each>"
        )

    def _repr_png_(self) -> bytes:
        """The picture, for a notebook."""
        buffer = BytesIO()
        self._png(buffer)
        return buffer.getvalue()

    def save(self, path: Path | str) -> None:
        """Write it as a .png; InputError if the file cannot be written."""
        to = Path(path)
        if to.suffix.lower() != ".png":
            raise InputError(f"{to} should end in .png")
        write_whole(to, self._png)


@public
def picture(texels: ArrayLike, scale: int | None = None) -> Picture:
    """A picture of an array as in a window: row 0 at the bottom, 0 black and 1 white.

    texels: (H, W) or (H, W, 4) real numbers, as `run_program` and a pipeline's run give them. Other
    values are clamped, NaN is black, and of four channels r, g and b are shown.
    scale: pixels along each side of a texel; by default enough to make a small picture readable.
    Raises InputError for other shapes, for a scale below 1 and for a picture that is too large.

    >>> picture([[0, 1], [1, 0]], scale=8)
    <Picture of 2×2 texels, 8×8 pixels each>
    """
    array = as_numbers("texels", texels, "an array (H, W) or (H, W, 4)")
    if not is_picture(array.shape) or not array.size:
        raise InputError(f"texels has the shape {array.shape}; give (H, W) or (H, W, 4)")
    side = (
        max(1, _READABLE // max(array.shape[:2])) if scale is None else as_positive("scale", scale)
    )
    return Picture(np.asarray(array, np.float32), side)


def is_picture(shape: tuple[int, ...]) -> bool:
    """Whether a window can show an array of that shape."""
    return len(shape) == 2 or (len(shape) == 3 and shape[2] == CHANNELS)
