"""The packings by name: the texels that a matrix takes, and the elements in their channels."""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.errors import InputError, described
from gpgpu_legacy.plan.textures import ONE_PER_TEXEL, R32F, RGBA32F, Format, Packing, quadrants

CHANNELS = 4


def row_of(channels: int) -> Packing:
    """So many consecutive elements of a row in the channels of a texel."""
    return Packing(tuple((0, column) for column in range(channels)), column_step=channels)


ROW_OF_FOUR = row_of(CHANNELS)


@dataclass(frozen=True)
class Packed:
    """How a matrix lies in a texture of width × height texels. format: the default one."""

    packing: Packing
    width: int
    height: int
    format: Format


def packed(name: str, rows: int, columns: int, channels: int = CHANNELS) -> Packed:
    """A matrix by the name of a packing.

    one: an element a texel. quadrants: the four quadrants in r, g, b and a (Hall, Carr & Hart 2003,
    equation (8)). rows: elements of a row in as many channels. Raises InputError for another name.
    """
    across, up = -(-columns // 2), -(-rows // 2)
    known = {
        "one": Packed(ONE_PER_TEXEL, columns, rows, R32F),
        "quadrants": Packed(quadrants(up, across), across, up, RGBA32F),
        "rows": Packed(row_of(channels), -(-columns // channels), rows, RGBA32F),
    }
    if name not in known:
        raise InputError(
            f"packing is {described(name)}; choose from {', '.join(known)}, or give a Packing"
        )
    return known[name]
