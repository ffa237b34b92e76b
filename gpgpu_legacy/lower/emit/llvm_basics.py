"""Types, constants, memory accesses and loops of LLVM, which all of its emitters share.

The argument of generated code is an array of 64-bit words with everything that differs between its
runs: first the HEADER_WORDS, then TEXTURE_WORDS for each surface, then BASE_WORDS for each base.
Work is split into pieces, which threads write into words of their own (llvm_schedule.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from gpgpu_legacy.isa.types import Kind

F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))

ALIGNMENTS = {F32: 4, F16: 2, I16: 2, I8: 1}
"""Sizes of stored elements, in bytes."""

ELEMENTS = {Kind.FLOAT: F32, Kind.INT: I32, Kind.BOOL: I1, Kind.UINT: I32, Kind.DOUBLE: F64}
"""LLVM's types of numbers."""


def element_of(kind: Any) -> Any:
    """The type of one lane."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def like(kind: Any, element: Any) -> Any:
    """The type of as many elements."""
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


def number_of(kind: Any, number: float) -> ir.Constant:
    """A number of that type, in every lane."""
    if isinstance(kind, ir.VectorType):
        return ir.Constant(kind, [ir.Constant(kind.element, number)] * kind.count)
    return ir.Constant(kind, number)


def integer(value: int) -> ir.Constant:
    """A 64-bit integer."""
    return ir.Constant(I64, value)


def integers(end: int, start: int = 0, step: int = 1) -> ir.Constant:
    """A vector of 32-bit integers in steps: which elements a shuffle takes."""
    numbers = list(range(start, end, step))
    return ir.Constant(ir.VectorType(I32, len(numbers)), numbers)


def load(builder: ir.IRBuilder, place: Any, kind: Any, align: int) -> Any:
    """The value of that type at an address."""
    value = builder.load(builder.bitcast(place, kind.as_pointer()))
    value.align = align
    return value


def store(builder: ir.IRBuilder, value: Any, place: Any, align: int) -> None:
    """Store a value at an address."""
    builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=align)


# Loops -------------------------------------------------------------------------------------------


class CountedLoop:
    """`for number in range(first, last, step)` around what is emitted in a `with` block."""

    def __init__(self, builder: ir.IRBuilder, first: Any, last: Any, step: Any = 1) -> None:
        """first, last: 64-bit integers of LLVM; step: a number, or such an integer."""
        self._builder, self._first, self._last = builder, first, last
        self._step = integer(step) if isinstance(step, int) else step

    def __enter__(self) -> Any:
        b, before = self._builder, self._builder.block
        self._head = b.append_basic_block()
        body, self._after = b.append_basic_block(), b.append_basic_block()
        b.branch(self._head)
        b.position_at_end(self._head)
        self._number = b.phi(I64)
        self._number.add_incoming(self._first, before)
        b.cbranch(b.icmp_signed("<", self._number, self._last), body, self._after)
        b.position_at_end(body)
        return self._number

    def __exit__(self, *_: object) -> None:
        b = self._builder
        self._number.add_incoming(b.add(self._number, self._step), b.block)
        self.back = b.branch(self._head)
        b.position_at_end(self._after)


def lesser(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    """The lesser of two integers."""
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def greater(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    """The greater of two integers."""
    return builder.select(builder.icmp_signed(">", a, b), a, b)


# Vectors -----------------------------------------------------------------------------------------

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


# Words ------------------------------------------------------------------------------------------

# The rectangle's columns and rows that are to be worked on, the iterations; how many of these a
# tile runs at a time, and how many the table has; addresses of the table and of what is staged
# (from the first iteration on); the floats of a panel; how wide the whole rectangle is.
X_FIRST, X_LAST, Y_FIRST, Y_LAST, FIRST, LAST, DEPTH, COUNT = range(8)
TABLE, STAGED, PANEL, WIDTH, HEADER_WORDS = range(8, 13)

MOST_PLANES = 4
ROW_LENGTH = MOST_PLANES  # in a surface's words, after its planes' addresses; in texels
SIZES = ROW_LENGTH + 1  # width, height and depth
ORIGIN = SIZES + 3  # of the rectangle in it, x and y
TEXTURE_WORDS = ORIGIN + 2

BASE_WORDS = 2  # s and t, in texels


def word_count(surfaces: int, bases: int) -> int:
    """The number of words of a piece."""
    return HEADER_WORDS + surfaces * TEXTURE_WORDS + bases * BASE_WORDS


class Words:
    """An array of words, read by code."""

    def __init__(self, builder: ir.IRBuilder, pointer: Any) -> None:
        """pointer: to the array."""
        self._builder, self.array = builder, pointer

    def place(self, word: Any) -> Any:
        """The address of a word. word: a number, or a 64-bit integer of LLVM."""
        number = integer(word) if isinstance(word, int) else word
        return self._builder.gep(self.array, [number])

    def integer(self, word: Any) -> Any:
        """A word as a number."""
        return self._builder.load(self.place(word))

    def address(self, word: int, element: Any = I64) -> Any:
        """A word as the address of elements of that type."""
        return self._builder.inttoptr(self.integer(word), element.as_pointer())
