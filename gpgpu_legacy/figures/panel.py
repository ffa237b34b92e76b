"""A panel of a sheet or an animation: the texels of a texture, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.textures import Extent, Format, Rect, Texture
from gpgpu_legacy.present.colours import ColourScale
from gpgpu_legacy.runtime.observed import PassPlace

LONGEST = 8
"""The most times that a picture is longer than wide; texels of longer textures are stretched."""


@dataclass(frozen=True, eq=False)
class Panel:
    """A texture after a pass, or with an input before the first pass.

    place: of the pass; None for an input. what: the file name of the program or kernel, or `copy`
    or `clear`; for an input, its name. rect: the part of the texels that was drawn or copied, if
    not all. texels: (rows, W, channels) float32, row 0 first, of the whole texture.
    """

    place: PassPlace | None
    what: str
    texture: Texture
    rect: Rect | None
    texels: F32

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the texels."""
        rows, columns, _ = self.texels.shape
        return columns, rows

    @property
    def stretch(self) -> tuple[int, int]:
        """How many times wider and higher its texels are drawn, so that no texture is a line."""
        columns, rows = self.size
        return max(rows // (LONGEST * columns), 1), max(columns // (LONGEST * rows), 1)

    @property
    def number(self) -> int:
        """The number of its pass; 0 for an input."""
        return self.place.number if self.place else 0

    @property
    def kind(self) -> tuple[Extent, Format]:
        """The key of similar textures: size and format."""
        return self.texture.extent, self.texture.format


class ShownPanel(NamedTuple):
    """A panel with the channels that are shown, none for a picture, and their scale, named."""

    panel: Panel
    channels: tuple[int, ...]
    name: str
    scale: ColourScale
