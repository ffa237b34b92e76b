"""The options of figures and animations, for Python and for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import Annotated

from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import InputError, as_positive

_SHORTEST_MS, _LONGEST_MS = 20, 60_000  # browsers lengthen shorter frames

LEAST_PASSES = 2
"""The least number of passes that are shown: the first and the last."""


class TexelsShown(Enum):
    """The display of a texture with four channels: each by itself, or r, g and b as a picture.

    AUTO: as a picture if the format is fixed-point; otherwise the channels in which texels differ,
    over all textures with which it alternates.
    """

    AUTO = "auto"
    CHANNELS = "channels"
    PICTURE = "picture"


@public
@dataclass(frozen=True)
class FigureOptions:
    """What a figure shows; of many passes, it shows the first, the last and some between.

    Ping-pong textures share a value scale. Clears are shown if they are asked for, and where
    nothing else is drawn.
    """

    panels: Annotated[int, "N", "The most pictures on the sheet, inputs among them."] = 12
    frames: Annotated[int, "N", "The most passes in the animation."] = 240
    after: Annotated[
        str,
        "WHEN",
        "Show textures after each `pass`, after the last one of each `iteration`, or after each "
        "pass of a program, by its file's name, or `copy` or `clear`.",
    ] = "pass"
    textures: Annotated[
        tuple[str, ...], "--texture", "NAME", "Show the passes to these textures (default: all)."
    ] = ()
    shown: Annotated[
        TexelsShown, "Show texels of four channels by channel, or as a picture of r, g and b."
    ] = TexelsShown.AUTO
    limits: Annotated[
        tuple[float, float] | None,
        "LOW HIGH", "The ends of the scale of values (default: what occurs).",
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        for name, count in (("panels", self.panels), ("frames", self.frames)):
            if count < LEAST_PASSES:
                raise InputError(f"{name} is {count}; it must be at least {LEAST_PASSES}")
        if self.limits is not None:
            low, high = self.limits
            if not (isfinite(low) and isfinite(high) and low < high):
                raise InputError(
                    f"limits are {low:g} and {high:g}; give a lower and a higher number"
                )


@public
@dataclass(frozen=True)
class AnimationOptions:
    """How an animation looks; by default, the longer side of the largest texture has 256 pixels."""

    scale: Annotated[int | None, "PIXELS", "Pixels along a side of a texel (default: to fit)."] = (
        None
    )
    captions: Annotated[bool, "Show the pass and the scale of values below the texture."] = True
    frame_ms: Annotated[int, "MS", "Milliseconds for each pass."] = 100
    last_ms: Annotated[int, "MS", "Milliseconds for the last pass, if that is more."] = 1000

    def __post_init__(self) -> None:
        if self.scale is not None:
            as_positive("scale", self.scale)
        for name, value in (("frame_ms", self.frame_ms), ("last_ms", self.last_ms)):
            if not _SHORTEST_MS <= value <= _LONGEST_MS:
                raise InputError(
                    f"{name} is {value}; give {_SHORTEST_MS} to {_LONGEST_MS} milliseconds"
                )
