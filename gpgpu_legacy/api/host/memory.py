"""The memory of a running program, byte by byte: one block for each object.

An address is a Python int: the block's number in the high bits, and the offset in the low 32. So an
access outside its object raises IndexError or KeyError, and one through a null pointer or to a
freed object raises KeyError.

Objects are APART blocks apart. A pointer that a program computes stays within one block of its
object, or is refused. The address of an element is used at once, and stays within REACH of a
pointer. So no access reaches any object but its pointer's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from struct import calcsize
from typing import Any

import numpy as np

from gpgpu_legacy.errors import GpgpuLegacyError, reason_of

MOST_BYTES = 1 << 30
"""The most bytes that a program's objects, and what Python keeps for them, may have together."""

OVERHEAD = 512
"""Bytes that Python keeps for an object: its block, views and entries in dicts."""

APART = 20
"""Blocks from an object to the next one. A multiple of 20 in an error is thus an object's block."""

REACH = 8 << 32
"""The most bytes from a pointer to an element: a 32-bit index times 8 bytes."""

OPERATIONS = "new drop read write fill put copy aligned address moved functions"
"""The methods of ProgramMemory that generated code calls."""


class HostError(Exception):
    """An error that stops a program, in words; its place is that of the statement that runs."""


def in_words(error: Exception) -> str:
    """What a program did that Python refuses, in the words of C."""
    if isinstance(error, HostError | GpgpuLegacyError):
        return str(error)
    known = (said for what, said in _REFUSED.items() if re.match(what, repr(error)))
    return next(known, f"a value or a shape does not fit here: {reason_of(error)}")


_REFUSED = {
    r"KeyError\((0|\(0, .*)\)": "a null pointer is read or written",
    r"KeyError\(\(": "the pointer leads to no function of its own type",
    r"KeyError\(\d*[02468]0\)": "the pointer leads to no object: it was freed, or never set",
    "KeyError|IndexError": "this reads or writes outside of an object",
    ".*read-only": "this writes to a string literal; copy it to an array first",
    ".*(Name|Local)Error": "a variable is read that was jumped over where it is set",
    "ZeroDivisionError": "this divides an integer by zero",
    "RecursionError": "this is nested too deeply; write it flatter",
}


class Views(dict[int, memoryview]):
    """The blocks as arrays of one type of number, made when they are first used."""

    def __init__(self, blocks: dict[int, Any], code: str) -> None:
        self.blocks, self.code, self.size = blocks, code, calcsize(f"={code}")

    def __missing__(self, block: int) -> memoryview:
        raw = memoryview(self.blocks[block])
        whole: Any = raw[: len(raw) // self.size * self.size]
        self[block] = view = whole.cast(self.code)
        return view  # type: ignore[no-any-return]


class ProgramMemory:
    """All objects of a program.

    views: by the code of a type of number. functions: by address and signature.
    """

    def __init__(self) -> None:
        self.blocks: dict[int, bytearray | bytes] = {}
        self.views = {code: Views(self.blocks, code) for code in "bBhHiIqQfd"}
        self.last, self.left = 0, MOST_BYTES
        self.functions: dict[tuple[int, str], Callable[..., Any]] = {}
        self._addresses: dict[Callable[..., Any], int] = {}

    def new(self, size: int) -> int:
        """The address of a new object, filled with zeros."""
        self.take(size)
        return self._put(bytearray(size))

    def take(self, size: int) -> None:
        """Count an object's bytes."""
        if not 0 <= size <= self.left - OVERHEAD:
            raise HostError(f"an object of {size} bytes is too large; all have {MOST_BYTES}")
        self.left -= size + OVERHEAD

    def give(self, size: int) -> None:
        """Undo the count of `take`."""
        self.left += size + OVERHEAD

    def _put(self, block: bytearray | bytes) -> int:
        self.last += APART
        if self.last >> 32:
            raise HostError("the program makes more objects than 64 bits have addresses for")
        self.blocks[self.last] = block
        return self.last << 32

    def literal(self, text: bytes) -> int:
        """The address of a string, which may not be written to."""
        return self._put(text + b"\0")

    def address(self, function: Callable[..., Any], signature: str) -> int:
        """The address of a function, an object without bytes."""
        if function not in self._addresses:
            at = self._addresses[function] = self._put(b"")
            self.functions[at, signature] = function
        return self._addresses[function]

    def drop(self, *addresses: int) -> None:
        """Free objects; null is ignored."""
        for address in filter(None, addresses):
            block = address >> 32
            if address != block << 32 or not isinstance(self.blocks.get(block), bytearray):
                raise HostError("this cannot be freed: malloc did not return it, or it was before")
            for views in self.views.values():
                views.pop(block, None)
            self.give(len(self.blocks.pop(block)))

    def resized(self, address: int, size: int) -> int:
        """Move an object to one of another size, as realloc does; returns its address."""
        new = self.new(size)
        if address:
            self.copy(address, min(size, len(self.blocks[address >> 32])), new)
            self.drop(address)
        return new

    def span(self, address: int, size: int) -> memoryview:
        """The bytes from an address on, as a view; IndexError beyond the object."""
        start = address & 0xFFFFFFFF
        view = self.views["B"][address >> 32][start : start + size]
        if len(view) != size:
            raise IndexError
        return view

    def read(self, address: int, size: int) -> bytes:
        """A copy of the bytes from an address on."""
        return bytes(self.span(address, size))

    def write(self, data: bytes | memoryview, address: int) -> int:
        """Write bytes at an address; returns the address, which generated code computes last."""
        self.span(address, len(data))[:] = data
        return address

    def copy(self, source: int, size: int, address: int) -> int:
        """Copy bytes to another address; the two may overlap. Returns that address."""
        return self.write(self.span(source, size), address)

    def fill(self, address: int, byte: int, size: int) -> int:
        """Write a byte `size` times; returns the address."""
        np.frombuffer(self.span(address, size), np.uint8)[...] = byte & 255
        return address

    def length(self, address: int, most: int = MOST_BYTES) -> int:
        """The length of the string at an address: up to a zero byte, but at most `most`."""
        block, start = self.blocks[address >> 32], address & 0xFFFFFFFF
        end = block.find(0, start, start + most)
        if end < 0 and start + most > len(block):
            raise IndexError
        return most if end < 0 else end - start

    def string(self, address: int, most: int = MOST_BYTES) -> bytes:
        """The string at an address without its zero byte, but at most `most` bytes of it."""
        return self.read(address, self.length(address, most))

    def put(self, code: str, value: Any, address: int) -> Any:
        """Write a number; returns it as it is stored."""
        views = self.views[code]
        view, at = views[address >> 32], (address & 0xFFFFFFFF) // views.size
        view[at] = value
        return view[at]

    @staticmethod
    def moved(address: int, by: int) -> int:
        """A pointer moved by some bytes; IndexError if it is over a block away from its object."""
        new = address + by
        if not -REACH < by < REACH or (new + (1 << 32)) % (APART << 32) >> 33:
            raise IndexError
        return new

    @staticmethod
    def aligned(address: int, size: int) -> int:
        """The address; HostError if it is no multiple of `size`."""
        if address % size:
            raise HostError(
                f"the pointer's address is no multiple of {size}, which its new type needs"
            )
        return address
