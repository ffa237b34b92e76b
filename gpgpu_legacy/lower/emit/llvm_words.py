"""The argument of generated code: 64-bit words with everything that differs between its runs.

First stand the HEADER_WORDS, then TEXTURE_WORDS for each surface, then BASE_WORDS for each base.
Work is split into pieces, which threads write into words of their own (llvm_schedule.py).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpgpu_legacy.lower.emit.llvm_basics import I64, integer

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
