"""Plans that measure what a device does: a few small square textures, drawn to by a pass or two."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.plan.formats import Format
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.plan.textures import (
    Extent,
    Matrix,
    Packing,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)


def measuring_plan(
    name: str,
    side: int,
    formats: Mapping[str, Format],
    operands: Collection[str],
    initial: Vec4,
    *passes: FragmentPass,
) -> Plan:
    """formats: of the textures, by name. Each is a matrix too, with its channels one below another:
    an operand, or else a result.
    """

    def matrix(texture: str) -> Matrix:
        return Matrix(texture, formats[texture].channels * side, side)

    def transfer(texture: str) -> tuple[str, Region, str, Rect, Packing]:
        rows = range(0, formats[texture].channels * side, side)
        region, packing = Region(0, 0, rows.stop, side), Packing(tuple((row, 0) for row in rows))
        return texture, region, texture, Rect(0, 0, side, side), packing

    results = [texture for texture in formats if texture not in operands]
    return Plan(
        name,
        tuple(map(matrix, operands)),
        tuple(map(matrix, results)),
        tuple(
            Texture(texture, TextureKind.RECT, Extent(side, side), texel_format, initial)
            for texture, texel_format in formats.items()
        ),
        tuple(Transfer(*transfer(texture)) for texture in operands),
        passes,
        tuple(Transfer(*transfer(texture)) for texture in results),
    )
