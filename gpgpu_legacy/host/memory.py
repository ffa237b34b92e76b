"""The memory of a running program, byte by byte: one block for each object.

An address is a Python int: the block's number, shifted by 32, and the offset in it. So C's
arithmetic on pointers is Python's on ints, an access outside its object is an IndexError, and one
through a null pointer or to a freed object a KeyError.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import calcsize
from typing import Any

MOST_BYTES = 1 << 30
"""The most bytes that a program's objects may have together."""


OPERATIONS = "new drop read write put aligned address"
"""The methods of Memory that generated code calls."""


class HostError(Exception):
    """What stops a program, in words; the place is that of the statement which runs."""


class Views(dict[int, memoryview]):
    """The blocks as arrays of one type of number, made when they are first used."""

    def __init__(self, blocks: dict[int, Any], code: str) -> None:
        self.blocks, self.code, self.size = blocks, code, calcsize(f"={code}")

    def __missing__(self, block: int) -> memoryview:
        raw = memoryview(self.blocks[block])
        whole: Any = raw[: len(raw) // self.size * self.size]
        self[block] = view = whole.cast(self.code)
        return view  # type: ignore[no-any-return]


class Memory:
    """All objects of a program. views: by the code of a type of number. functions: by address."""

    def __init__(self) -> None:
        self.blocks: dict[int, bytearray | bytes] = {}
        self.views = {code: Views(self.blocks, code) for code in "bBhHiIqQfd"}
        self.last, self.left = 0, MOST_BYTES
        self.functions: dict[int, Callable[..., Any]] = {}
        self._addresses: dict[Callable[..., Any], int] = {}

    def new(self, size: int) -> int:
        """The address of a new object, filled with zeros."""
        if not 0 <= size <= self.left:
            raise HostError(f"an object of {size} bytes is too large; all have {MOST_BYTES}")
        self.left -= size
        return self._put(bytearray(size))

    def _put(self, block: bytearray | bytes) -> int:
        self.last += 1
        self.blocks[self.last] = block
        return self.last << 32

    def literal(self, text: bytes) -> int:
        """The address of a string, which may not be written to."""
        return self._put(text + b"\0")

    def address(self, function: Callable[..., Any]) -> int:
        """The address of a function, an object without bytes."""
        if function not in self._addresses:
            at = self._addresses[function] = self._put(b"")
            self.functions[at] = function
        return self._addresses[function]

    def drop(self, *addresses: int) -> None:
        """Free objects; null is ignored."""
        for address in filter(None, addresses):
            block = address >> 32
            if address != block << 32 or not isinstance(self.blocks.get(block), bytearray):
                raise HostError("this cannot be freed: malloc did not return it, or it was before")
            for views in self.views.values():
                views.pop(block, None)
            self.left += len(self.blocks.pop(block))

    def resized(self, address: int, size: int) -> int:
        """As realloc."""
        new = self.new(size)
        if address:
            self.write(self.read(address, min(size, len(self.blocks[address >> 32]))), new)
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

    def write(self, data: bytes, address: int) -> bytes:
        """Write bytes at an address, which is computed last; returns them."""
        self.span(address, len(data))[:] = data
        return data

    def string(self, address: int) -> bytes:
        """The string at an address, without its zero."""
        block, start = self.blocks[address >> 32], address & 0xFFFFFFFF
        end = block.find(0, start)
        if end < 0:
            raise IndexError
        return bytes(block[start:end])

    def put(self, code: str, value: Any, address: int) -> Any:
        """Write a number; returns it as it is now."""
        views = self.views[code]
        view, at = views[address >> 32], (address & 0xFFFFFFFF) // views.size
        view[at] = value
        return view[at]

    @staticmethod
    def aligned(address: int, size: int) -> int:
        """The address, if its type's alignment divides it."""
        if address % size:
            raise HostError(
                f"the pointer's address is no multiple of {size}, which its new type needs"
            )
        return address
