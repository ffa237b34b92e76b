"""Pillow's images, written whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gpgpu_legacy.files import Write, write_whole


def png_of(image: Image.Image) -> Write:
    """What fills a file with an image as a PNG."""
    return lambda to: image.save(to, "PNG", optimize=True)


def grey_png_of(levels: NDArray[np.uint8]) -> Write:
    """What fills a file with levels of grey as a PNG, the first row at the top."""
    return png_of(Image.fromarray(levels))


def gif_of(
    images: Sequence[Image.Image], durations_ms: Sequence[int], *, loops: bool = True
) -> Write:
    """What fills a file with images as an animation.

    durations_ms: how long each image is shown. loops: whether it starts again after its end.
    """
    first, *others = images
    repeats = {"loop": 0} if loops else {}
    return lambda to: first.save(
        to, "GIF", save_all=True, append_images=others, duration=list(durations_ms), **repeats
    )


def save_png(image: Image.Image, path: Path) -> None:
    """Write an image as a PNG; InputError where the file cannot be written."""
    write_whole(path, png_of(image))


def save_gif(
    images: Sequence[Image.Image], path: Path, durations_ms: Sequence[int], *, loops: bool = True
) -> None:
    """Write images as `gif_of` does; InputError where the file cannot be written."""
    write_whole(path, gif_of(images, durations_ms, loops=loops))


def save_apng(
    images: Sequence[Image.Image], path: Path, durations_ms: Sequence[int], *, loops: bool = True
) -> None:
    """Write images as a PNG of several frames, as `save_gif` does a GIF."""
    first, *others = images
    write_whole(
        path,
        lambda to: first.save(
            to,
            "PNG",
            save_all=True,
            append_images=others,
            duration=list(durations_ms),
            loop=0 if loops else 1,
            optimize=True,
        ),
    )
