"""Pictures one after another in a GIF, or in a PNG of several frames (APNG), and single PNGs.

A picture is (H, W, 3) uint8, its first row at the top. An APNG keeps every pixel exactly, and a GIF
those of a picture of at most 256 colours, as with grey texels and colour scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.files import Write, check_writable, write_whole
from gpgpu_legacy.present.colours import RGB

if TYPE_CHECKING:
    from PIL.Image import Image


F32 = NDArray[np.float32]

LARGEST_ANIMATION = 1 << 26
"""The most pixels in all pictures of an animation: they stay in memory until it is written."""

_SUFFIXES = (".gif", ".png", ".apng")


def animation_writer(
    path: Path, frame_ms: int = 100, last_ms: int = 100
) -> Callable[[Iterable[RGB]], None]:
    """A function that writes pictures of one size to that path, which is checked at once.

    frame_ms, last_ms: milliseconds for each picture, and for the last; a GIF rounds them to
    hundredths of a second.

    A name that ends in .gif is a GIF, in .png or .apng an APNG. Raises InputError for another
    suffix and a missing folder. The function raises it if there is no picture, for pictures of
    different sizes, and for more than LARGEST_ANIMATION pixels.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"{path} does not name a format for animations; let it end in one of "
            f"{', '.join(_SUFFIXES)}"
        )
    check_writable(path)
    kind = "GIF" if path.suffix.lower() == ".gif" else "PNG"

    def write(pictures: Iterable[RGB]) -> None:
        kept = _kept(pictures)
        write_whole(path, film_of(kept, [frame_ms] * (len(kept) - 1) + [last_ms], kind))

    return write


def texel_animation_writer(path: Path, scale: int = 1) -> Callable[[Iterable[F32]], None]:
    """A function that writes textures as an animation, each drawn by `texel_picture`.

    scale: pixels along each side of a texel. The textures have one size. For errors see
    `animation_writer`.
    """
    write, side = animation_writer(path), as_positive("scale", scale)

    def picture(texels: F32) -> RGB:
        height, width = texels.shape[:2]
        check_size(side * width, side * height)
        return enlarged(texel_picture(texels), side)

    return lambda frames: write(map(picture, frames))


def texel_picture(texels: F32) -> RGB:
    """Texels (H, W), (H, W, 1) or (H, W, 4) as a window shows them: row 0 at the bottom.

    0 is black and 1 is white; other values are clamped, and NaN is 0. Of four channels, r, g and b
    are shown.
    """
    planes = texels if texels.ndim == 3 else texels[..., None]
    shown = np.clip(np.nan_to_num(planes[::-1, :, :3], nan=0.0), 0.0, 1.0) * 255.0
    pixels = np.round(shown).astype(np.uint8)
    return pixels if pixels.shape[2] == 3 else np.repeat(pixels[..., :1], 3, axis=2)


def check_size(width: int, height: int, count: int = 1) -> None:
    """Raise InputError if no animation can hold that many pictures of that size, in pixels."""
    most = LARGEST_ANIMATION // (width * height)
    if count > most:
        raise InputError(
            f"an animation of {width}×{height} pixels has at most {most} pictures; enlarge it "
            "less, or show fewer passes"
        )


def enlarged(picture: RGB, scale: int) -> RGB:
    """The picture with each pixel as a square of scale × scale pixels."""
    return picture.repeat(scale, axis=0).repeat(scale, axis=1)


def film_of(pictures: Sequence[RGB], durations_ms: Sequence[int], kind: str = "GIF") -> Write:
    """A function that writes pictures of one size into a file as an endless animation.

    durations_ms: how long each picture is shown. kind: GIF, or PNG for an APNG.
    """
    from PIL.Image import fromarray

    first, *others = map(fromarray, pictures)
    more = {"optimize": True} if kind == "PNG" else {}
    return lambda to: first.save(
        to, kind, save_all=True, append_images=others, duration=list(durations_ms), loop=0, **more
    )


def png_of(image: Image) -> Write:
    """A function that writes an image into a file as a PNG."""
    return lambda to: image.save(to, "PNG", optimize=True)


def _kept(pictures: Iterable[RGB]) -> list[RGB]:
    """All pictures, counted while they come."""
    kept: list[RGB] = []
    for picture in pictures:
        kept.append(picture)
        height, width, _ = picture.shape
        if picture.shape != kept[0].shape:
            first_height, first_width, _ = kept[0].shape
            raise InputError(
                f"picture {len(kept)} of an animation is {width}×{height} pixels, but the first is "
                f"{first_width}×{first_height}; give pictures of one size"
            )
        check_size(width, height, len(kept))
    if not kept:
        raise InputError("there is no picture to animate; show at least one pass")
    return kept
