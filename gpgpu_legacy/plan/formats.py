"""Texture formats: what a texel stores, and how many bytes it takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Numeric(Enum):
    """How a channel stores a number."""

    FLOAT = "float"
    UNORM = "unorm"


@dataclass(frozen=True, slots=True)
class Format:
    """A texel format. Channels run r, g, b, a; those that are missing read as 0, 0, 1."""

    name: str
    channels: int
    bits_per_channel: int
    numeric: Numeric

    @property
    def texel_bytes(self) -> int:
        """Bytes of one texel."""
        return self.channels * self.bits_per_channel // 8


R32F = Format("r32f", 1, 32, Numeric.FLOAT)
RGBA32F = Format("rgba32f", 4, 32, Numeric.FLOAT)
UNORM8 = Format("unorm8", 1, 8, Numeric.UNORM)

FORMATS = {f.name: f for f in (R32F, RGBA32F, UNORM8)}
