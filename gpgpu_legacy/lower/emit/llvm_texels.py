"""Texels of four floats that lie side by side, as LLVM instructions: a load each, then a transpose.

Each lane of a vector of fragments wants a texel of its own. Four lanes' texels become four vectors
of one channel by shuffles that cross no 128 bits, since the lanes of such a quarter of a vector are
loaded to the same place of four vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from gpgpu_legacy.lower.emit.llvm_grid import I32, integers

CHANNELS = 4


def channels_of(builder: ir.IRBuilder, texels: Sequence[Any]) -> list[Any]:
    """Vectors of each channel, of as many texels of four channels; of one texel, its numbers."""
    if len(texels) == 1:
        places = (ir.Constant(I32, channel) for channel in range(CHANNELS))
        return [builder.extract_element(texels[0], place) for place in places]
    rows = [_joined(builder, texels[row::CHANNELS]) for row in range(CHANNELS)]
    channels = []
    for half in range(2):
        low, high = (_taken(builder, rows[n], rows[n + 1], _UNPACKED[half]) for n in (0, 2))
        channels += [_taken(builder, low, high, places) for places in _PAIRS]
    return channels


# Of two vectors' quarters, which elements a quarter of the result takes: 4 to 7 are the second's.
_UNPACKED = ((0, 4, 1, 5), (2, 6, 3, 7))
_PAIRS = ((0, 1, 4, 5), (2, 3, 6, 7))


def _taken(builder: ir.IRBuilder, a: Any, b: Any, places: Sequence[int]) -> Any:
    """A shuffle that takes the same elements in each four of two vectors."""
    count = a.type.count
    numbers = [
        quarter + place % CHANNELS + (count if place >= CHANNELS else 0)
        for quarter in range(0, count, CHANNELS)
        for place in places
    ]
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, count), numbers))


def _joined(builder: ir.IRBuilder, vectors: Sequence[Any]) -> Any:
    """One vector of several, each after the other."""
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [builder.shuffle_vector(a, b, integers(2 * a.type.count)) for a, b in pairs]
    return vectors[0]
