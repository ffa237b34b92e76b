"""How fragments touch textures: where texels are stored, and the order of the fragments."""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.cache.layout import LINEAR, Layout, parse_layout
from gpgpu_legacy.cache.raster import SCAN, Raster, parse_raster


@dataclass(frozen=True, slots=True)
class Access:
    """A texture layout and a raster order.

    quads: rasterise 2×2 quads, whose four fragments take each access in turn. Raises InputError
    where quads do not fill the tiles of the raster order.
    """

    layout: Layout = LINEAR
    raster: Raster = SCAN
    quads: bool = False

    def __post_init__(self) -> None:
        self.raster.check(quads=self.quads)

    def __str__(self) -> str:
        """The raster order and the layout, by their names."""
        quads = " in quads" if self.quads else ""
        return f"{self.raster.name}{quads}, {self.layout.name}"


DEFAULT_ACCESS = Access()
"""Linear textures, whose fragments come in scan order one by one."""


def parse_access(
    layout: str | None = None, raster: str | None = None, *, quads: bool = False
) -> Access:
    """An Access from the spellings of a layout and of a raster order; InputError for unknown ones.

    None chooses that of DEFAULT_ACCESS.
    """
    return Access(
        DEFAULT_ACCESS.layout if layout is None else parse_layout(layout),
        DEFAULT_ACCESS.raster if raster is None else parse_raster(raster),
        quads,
    )
