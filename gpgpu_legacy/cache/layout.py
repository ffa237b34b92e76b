"""Texture layouts: linear, blocked, in Morton order, in blocks of blocks.

All layouts are separable: texel (i, j) lies x[i] + y[j] bytes after the texture's first byte, so
two short tables are enough. Row 0 comes first; the layers of a 3D texture or of a cube map lie one
above the other (plan.Extent.rows). The two-level layout is the 6D blocking of Hakura & Gupta,
"The Design and Analysis of a Cache Architecture for Texture Mapping" (1997).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError

I64 = NDArray[np.int64]
Side = tuple[int, int]
"""Width and height of a block or tile, in texels or fragments."""

LONGEST_SIDE = 8192
"""The longest side of a block or tile: that of the largest texture (plan/textures.py)."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the texels of one texture lie, in bytes.

    x: int64 [width]; y: int64 [rows]; texel (i, j) begins at x[i] + y[j]. size_bytes: of the
    texture, padding included.
    """

    x: I64
    y: I64
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A texture layout by its canonical name.

    blocks: the sides of the blocks, small ones first, each a multiple of the one before; empty for
    linear. morton: in Morton order instead.
    """

    name: str
    blocks: tuple[Side, ...] = ()
    morton: bool = False

    def place(self, width: int, rows: int, texel_bytes: int) -> Placement:
        """The placement of a texture of width × rows texels.

        A blocked texture is padded to whole blocks. A Morton one is padded to powers of two; the
        low bits common to both sides are interleaved, x lowest, and the other bits of the longer
        side lie above them.
        """
        x, y = np.arange(width, dtype=np.int64), np.arange(rows, dtype=np.int64)
        if self.morton:
            bits = (width - 1).bit_length(), (rows - 1).bit_length()
            common, texels = min(bits), 1 << sum(bits)
            x, y = _spread(x, common, 0), _spread(y, common, 1)
        else:
            x, y, texels = _blocked(x, y, self.blocks)
        return Placement(x * texel_bytes, y * texel_bytes, texels * texel_bytes)


def _blocked(x: I64, y: I64, blocks: tuple[Side, ...]) -> tuple[I64, I64, int]:
    """Offsets in texels of columns and rows, and the size of the padded texture in texels."""
    largest = blocks[-1] if blocks else (1, 1)
    whole = (-(-len(x) // largest[0]) * largest[0], -(-len(y) // largest[1]) * largest[1])
    across, up = np.zeros_like(x), np.zeros_like(y)
    width, height = 1, 1
    for outer_width, outer_height in (*blocks, whole):
        across += x % outer_width // width * (width * height)
        up += y % outer_height // height * (outer_width * height)
        width, height = outer_width, outer_height
    return across, up, width * height


def _spread(values: I64, common: int, first: int) -> I64:
    """Bit k of each value at 2k + first for the common bits; the higher bits above all of these."""
    spread = values >> common << (2 * common)
    for bit in range(common):
        spread |= (values >> bit & 1) << (2 * bit + first)
    return spread


# Spellings ---------------------------------------------------------------------------------------

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spelling(Generic[T]):
    """One way to write a choice: its form and its meaning, for people, and its reader.

    read: returns None for a text of another form, and raises InputError for impossible numbers.
    """

    form: str
    summary: str
    read: Callable[[str], T | None]


def read_spelling(what: str, text: str, spellings: Iterable[Spelling[T]]) -> T:
    """The choice with that spelling, by the first form that fits; InputError if none does."""
    wanted = text.strip().lower()
    for spelling in spellings:
        choice = spelling.read(wanted)
        if choice is not None:
            return choice
    forms = "; ".join(f"{spelling.form} ({spelling.summary})" for spelling in spellings)
    raise InputError(f"there is no {what} {text!r}; choose from {forms}")


def read_sides(text: str, what: str) -> Side | None:
    """Width and height from WxH; None for another form, InputError for sides out of range."""
    match = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", text)
    if match is None:
        return None
    width, height = int(match[1]), int(match[2])
    if min(width, height) < 1 or max(width, height) > LONGEST_SIDE:
        raise InputError(f"{what} of {text} is out of range; its sides are 1 to {LONGEST_SIDE}")
    return width, height


def _read_blocks(text: str) -> Layout | None:
    sides = read_sides(text, "a block")
    return None if sides is None else Layout(f"{sides[0]}x{sides[1]}", (sides,))


def _read_blocks_in_blocks(text: str) -> Layout | None:
    small, _, large = text.removeprefix("6d:").partition(",")
    inner, outer = (read_sides(sides, "a block") for sides in (small, large))
    if not text.startswith("6d:") or inner is None or outer is None:
        return None
    if outer[0] % inner[0] or outer[1] % inner[1]:
        raise InputError(
            f"blocks of {large} do not hold whole blocks of {small}; make the large sides "
            "multiples of the small ones, as in 6d:4x4,32x32"
        )
    return Layout("6d" if text == _SIX_D_DEFAULT else text, (inner, outer))


_SIX_D_DEFAULT = "6d:4x4,32x32"
LINEAR = Layout("linear")
MORTON = Layout("morton", morton=True)
SIX_D = Layout("6d", ((4, 4), (32, 32)))

LAYOUTS: tuple[Spelling[Layout], ...] = (
    Spelling("linear", "row after row", {LINEAR.name: LINEAR}.get),
    Spelling("WxH", "blocks of that size, such as 4x4 or 8x8, row by row", _read_blocks),
    Spelling("morton", "the bits of x and y interleaved", {MORTON.name: MORTON}.get),
    Spelling("6d", "4x4 blocks in 32x32 blocks", {SIX_D.name: SIX_D}.get),
    Spelling("6d:WxH,WxH", "small blocks in large blocks, of those sizes", _read_blocks_in_blocks),
)
"""All layouts; names and help come from here."""


def parse_layout(text: str) -> Layout:
    """The layout with that spelling, such as its `name`; InputError for an unknown one."""
    return read_spelling("texture layout", text, LAYOUTS)
