"""How fragments access textures: the addresses of texels, and the order of the fragments.

A GPU hides the latency of memory behind other fragments: it starts many, and each waits for its
lookup while the next makes the same one. Fragments in flight model that interleaving, without
times: a number of neighbours in raster order start together. All make their first access in turn,
then their second, and so on up to their writes; then the next ones start. With quads, that number
of quads starts together, and a quad's four fragments still make each access in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.cache.layout import LINEAR, Layout, parse_layout
from gpgpu_legacy.cache.raster import SCAN, Raster, parse_raster
from gpgpu_legacy.errors import InputError, as_positive, described

MOST_IN_FLIGHT = 1 << 16


@dataclass(frozen=True, slots=True)
class Access:
    """A texture layout and a raster order.

    quads: rasterise 2×2 quads, whose four fragments take each access in turn. in_flight: the number
    of fragments, or quads, in flight, from 1 to MOST_IN_FLIGHT; with 1 each is done before the
    next. Raises InputError for any other number, and if quads do not fill the tiles of the raster
    order.
    """

    layout: Layout = LINEAR
    raster: Raster = SCAN
    quads: bool = False
    in_flight: int = 1

    def __post_init__(self) -> None:
        self.raster.check(quads=self.quads)
        if as_positive("in_flight", self.in_flight) > MOST_IN_FLIGHT:
            raise InputError(
                f"in_flight is {described(self.in_flight)}; it must be at most {MOST_IN_FLIGHT}"
            )

    def __str__(self) -> str:
        """The raster order and the layout, by name, and the number in flight."""
        quads = " in quads" if self.quads else ""
        in_flight = f", {self.in_flight} in flight" if self.in_flight > 1 else ""
        return f"{self.raster.name}{quads}, {self.layout.name}{in_flight}"


DEFAULT_ACCESS = Access()
"""Linear textures, whose fragments come in scan order one by one."""


def parse_access(
    layout: str = LINEAR.name,
    raster: str = SCAN.name,
    *,
    quads: bool = False,
    in_flight: int = 1,
) -> Access:
    """An Access from the spellings of a layout and a raster order; InputError for unknown ones.

    quads, in_flight: as in Access.
    """
    return Access(parse_layout(layout), parse_raster(raster), quads, in_flight)
