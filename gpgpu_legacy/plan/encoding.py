"""The content of a texel for a colour, and the colour of its lookup (GL 2.1, section 2.14.9).

The formulas use operators and NumPy's functions, as the opcodes' definitions do. as_level: whether
the content of a fixed-point texel is the whole number that is stored, rather than its value in
[0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpgpu_legacy.isa.arithmetic import halved
from gpgpu_legacy.isa.opcodes import saturated
from gpgpu_legacy.plan.textures import Format, Numeric


def levels_of(texel_format: Format) -> float:
    """The largest whole number that a channel of a fixed-point format stores."""
    return 2.0**texel_format.bits_per_channel - 1


def nearest_level(value: Any, texel_format: Format) -> Any:
    """The whole number that is stored for a number in [0, 1]."""
    return np.floor(value * levels_of(texel_format) + 0.5)


def shown_level(whole: Any, texel_format: Format) -> Any:
    """The float32 nearest to k / (2^b - 1), for a whole number k of b bits, 8 or 16.

    A quotient would do, but GLSL's may be 2.5 units in the last place off (4.30, section 4.7.1).
    1 / (2^b - 1) is 2^-b + 2^-2b + …. The product of k and the leading terms that fit 24 bits is
    exact, and so is that of k and the next two terms. Only the sum of both products is rounded. The
    remaining terms are less than half a unit.
    """
    bits = texel_format.bits_per_channel
    leading = 24 // bits
    high = sum(2.0 ** (-bits * n) for n in range(1, leading + 1))
    low = sum(2.0 ** (-bits * n) for n in range(leading + 1, leading + 3))
    return whole * high + whole * low


def encoded(value: Any, texel_format: Format, *, as_level: bool = False) -> Any:
    """The content of a channel for a colour; a fixed-point format stores 0 for NaN."""
    if texel_format.numeric is Numeric.UNORM:
        whole = nearest_level(saturated(value), texel_format)
        return whole if as_level else shown_level(whole, texel_format)
    return halved(value) if texel_format.bits_per_channel == 16 else value


def decoded(held: Any, texel_format: Format, *, as_level: bool = False) -> Any:
    """The colour that a lookup reads from the content of a channel."""
    is_level = as_level and texel_format.numeric is Numeric.UNORM
    return shown_level(held, texel_format) if is_level else held


def summed(value: Any, held: Any, texel_format: Format, *, as_level: bool = False) -> Any:
    """The content of a channel after an encoded colour has been added to it."""
    total = value + held
    if texel_format.numeric is not Numeric.UNORM:
        return encoded(total, texel_format)
    most = levels_of(texel_format)
    if not as_level:
        total = nearest_level(total, texel_format)
    limited = np.where(total < most, total, most)
    return limited if as_level else shown_level(limited, texel_format)


def as_read(channels: Sequence[Any], texel_format: Format) -> list[Any]:
    """The R, G, B and A that a lookup reads, from the colours of a texel's channels."""
    return [
        np.float32(source) if source in "01" else channels["rgba".index(source)]
        for source in texel_format.reads
    ]
