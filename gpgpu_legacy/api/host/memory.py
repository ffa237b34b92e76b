"""The memory of a running program, byte by byte: one block for each object.

An address is a Python int: the block's number, shifted by 32, and the offset in it. So an access
outside its object is an IndexError or a KeyError, and one through a null pointer or to a freed
object a KeyError. Objects are APART blocks apart. What a program computes from a pointer stays
within one block of the pointer's object, or is refused; an element's address, which is used at
once, stays within REACH of such a pointer. So no access meets another object than its pointer's.
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
"""Blocks from an object to the next one. A multiple of 20 tells objects in an error's number."""

REACH = 8 << 32
"""Bytes from a pointer to what it is an index of: 32 bits of them, for elements of 8 bytes."""

OPERATIONS = "new drop read write fill put copy aligned address moved functions"
"""The methods of ProgramMemory that generated code calls."""


class HostError(Exception):
    """What stops a program, in words; the place is that of the statement which runs."""


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
        """Count no longer what `take` counted."""
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
        """As realloc."""
        new = self.new(size)
        if address:
            self.copy(address, min(size, len(self.blocks[address >> 32])), new)
            self.drop(address)
        return new

    def span(self, address: int, size: int) -> memoryview:
        """The bytes from an address on."""
        start = address & 0xFFFFFFFF
        view = self.views["B"][address >> 32][start : start + size]
        if len(view) != size:
            raise IndexError
        return view

    def read(self, address: int, size: int) -> bytes:
        """The same, as a copy."""
        return bytes(self.span(address, size))

    def write(self, data: bytes | memoryview, address: int) -> int:
        """Write bytes at an address, which is computed last, and returned."""
        self.span(address, len(data))[:] = data
        return address

    def copy(self, source: int, size: int, address: int) -> int:
        """Write the bytes at another address, which may be some of the same."""
        return self.write(self.span(source, size), address)

    def fill(self, address: int, byte: int, size: int) -> int:
        """Write the byte so many times."""
        np.frombuffer(self.span(address, size), np.uint8)[...] = byte & 255
        return address

    def length(self, address: int, most: int = MOST_BYTES) -> int:
        """The length of the string at an address: up to a zero, or so many bytes."""
        block, start = self.blocks[address >> 32], address & 0xFFFFFFFF
        end = block.find(0, start, start + most)
        if end < 0 and start + most > len(block):
            raise IndexError
        return most if end < 0 else end - start

    def string(self, address: int, most: int = MOST_BYTES) -> bytes:
        """The string at an address without its zero, or so many bytes of it."""
        return self.read(address, self.length(address, most))

    def put(self, code: str, value: Any, address: int) -> Any:
        """Write a number; returns it as it is now."""
        views = self.views[code]
        view, at = views[address >> 32], (address & 0xFFFFFFFF) // views.size
        view[at] = value
        return view[at]

    @staticmethod
    def moved(address: int, by: int) -> int:
        """A pointer so many bytes ahead, in or beside its object."""
        new = address + by
        if not -REACH < by < REACH or (new + (1 << 32)) % (APART << 32) >> 33:
            raise IndexError
        return new

    @staticmethod
    def aligned(address: int, size: int) -> int:
        """The address, if its type's alignment divides it."""
        if address % size:
            raise HostError(
                f"the pointer's address is no multiple of {size}, which its new type needs"
            )
        return address
