"""Arrays of texels as pictures, for notebooks and files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.draw_values import as_numbers
from gpgpu_legacy.api.texels import png_of
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import write_whole
from gpgpu_legacy.isa.arithmetic import F32

_READABLE = 256
"""Pixels along the longer side that a small picture is enlarged to, or a little less."""

_CHANNELS = (1, 4)


class Picture:
    """A picture of texels; a notebook shows it. `picture` makes one.

    width, height: in texels. scale: pixels along each side of a texel.
    """

    def __init__(self, texels: F32, scale: int) -> None:
        self._texels, self.scale = texels, scale
        self.height, self.width = texels.shape[:2]

    def __repr__(self) -> str:
        return (
            f"<Picture of {self.width}×{self.height} texels, {self.scale}×{self.scale} pixels each>"
        )

    def _repr_png_(self) -> bytes:
        """The picture, for a notebook."""
        buffer = BytesIO()
        png_of(self._texels, self.scale)(buffer)
        return buffer.getvalue()

    def save(self, path: Path | str) -> None:
        """Write it as a .png; InputError where the file cannot be written."""
        to = Path(path)
        if to.suffix.lower() != ".png":
            raise InputError(f"{to} should end in .png")
        write_whole(to, png_of(self._texels, self.scale))


def picture(texels: ArrayLike, scale: int | None = None) -> Picture:
    """What an array looks like in a window: row 0 at the bottom, 0 black and 1 white.

    texels: (H, W) or (H, W, 4) real numbers, as `run_program` and a pipeline's run give them. Other
    values are clamped, NaN is black, and of four channels r, g and b are shown.
    scale: pixels along each side of a texel; by default as many as make a small picture readable.
    Raises InputError for other shapes, for a scale below 1 and for a picture that is too large.

    >>> picture([[0, 1], [1, 0]], scale=8)
    <Picture of 2×2 texels, 8×8 pixels each>
    """
    array = as_numbers("texels", texels, "an array (H, W) or (H, W, 4)")
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise InputError(f"texels has the shape {array.shape}; give (H, W) or (H, W, 4)")
    if array.ndim == 3 and array.shape[2] not in _CHANNELS:
        raise InputError(f"texels has {array.shape[2]} channels; give (H, W) or (H, W, 4)")
    side = (
        max(1, _READABLE // max(array.shape[:2])) if scale is None else as_positive("scale", scale)
    )
    texels32 = np.asarray(array, np.float32)
    png_of(texels32, side)  # refuses what is too large now, and not when it is shown
    return Picture(texels32, side)
