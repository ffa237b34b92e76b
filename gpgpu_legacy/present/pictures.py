"""Pillow's images, written whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image

from gpgpu_legacy.files import Write


def png_of(image: Image.Image) -> Write:
    """A function that writes an image into a file as a PNG."""
    return lambda to: image.save(to, "PNG", optimize=True)


def animation_of(
    images: Sequence[Image.Image], durations_ms: Sequence[int], kind: str = "GIF"
) -> Write:
    """A function that writes images into a file as an endless animation.

    durations_ms: how long each image is shown. kind: GIF, or PNG for one of several frames.
    """
    first, *others = images
    more = {"optimize": True} if kind == "PNG" else {}
    return lambda to: first.save(
        to, kind, save_all=True, append_images=others, duration=list(durations_ms), loop=0, **more
    )
