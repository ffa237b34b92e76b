"""Texture formats: the channels of a texel and their bits; and how large a texture may be."""

from __future__ import annotations

from enum import Enum

from gpgpu_legacy.frozen import frozen

LARGEST_TEXTURE = 8192
"""The default limit on a texture's width and height, in texels. All drivers of the last ten years
allow it. The GeForce4 of Hall, Carr & Hart's Section 4 allowed 2048."""


class Numeric(Enum):
    """How a channel stores a number: in floating point, or as unsigned fixed point in [0, 1]."""

    FLOAT = "float"
    UNORM = "unorm"


@frozen
class Format:
    """A texel format. Channels are r, g, b, a in this order; a missing g, b or a reads 0, 0, 1."""

    name: str
    channels: int
    bits_per_channel: int
    numeric: Numeric

    @property
    def texel_bytes(self) -> int:
        """Bytes of one texel."""
        return self.channels * self.bits_per_channel // 8


R16F = Format("r16f", 1, 16, Numeric.FLOAT)
RGBA16F = Format("rgba16f", 4, 16, Numeric.FLOAT)
R32F = Format("r32f", 1, 32, Numeric.FLOAT)
RGBA32F = Format("rgba32f", 4, 32, Numeric.FLOAT)
UNORM8 = Format("unorm8", 1, 8, Numeric.UNORM)
RGBA8 = Format("rgba8", 4, 8, Numeric.UNORM)

FORMATS = {f.name: f for f in (R16F, RGBA16F, R32F, RGBA32F, UNORM8, RGBA8)}
