"""Pillow's images, written whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from gpgpu_legacy.files import write_whole


def save_png(image: Image.Image, path: Path) -> None:
    """Write an image as a PNG; InputError where the file cannot be written."""
    write_whole(path, lambda to: image.save(to, "PNG", optimize=True))


def save_gif(images: Sequence[Image.Image], path: Path, durations_ms: Sequence[int]) -> None:
    """Write images as an animation that repeats; InputError where the file cannot be written.

    durations_ms: how long each image is shown.
    """
    first, *others = images
    write_whole(
        path,
        lambda to: first.save(
            to, "GIF", save_all=True, append_images=others, duration=list(durations_ms), loop=0
        ),
    )
