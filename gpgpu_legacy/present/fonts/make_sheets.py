"""Makes the glyph sheets of this folder from two TrueType files; README.md says how it is run."""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from gpgpu_legacy.present.pixel_text import BEYOND_LATIN_1, Font

_COLUMNS = 16
_LATIN_1 = [*range(0x20, 0x7F), *range(0xA0, 0x100)]
_BYTES = {
    **{code: chr(code) for code in _LATIN_1},
    **{0x80 + i: character for i, character in enumerate(BEYOND_LATIN_1)},
}


@dataclass(frozen=True, slots=True)
class _Cell:
    """Where a glyph lies, in pixels.

    advance: from its origin to the next glyph's. left, right: what its ink takes, from the origin.
    x, y: its origin in the sheet, at the top of its line.
    """

    advance: int
    left: int
    right: int
    x: int
    y: int


def make_sheet(font_file: Path, pixels: int, target: Path) -> None:
    """Write target.png and target.pil: the glyphs of a TrueType file at a size.

    Glyphs are anti-aliased and hinted, without kerning, and their advances are whole pixels.
    """
    font = ImageFont.truetype(font_file, pixels, layout_engine=ImageFont.Layout.BASIC)
    ascent, descent = font.getmetrics()
    cell = 2 * pixels
    height = ascent + descent
    lines = -(-len(_BYTES) // _COLUMNS)
    sheet = Image.new("L", (_COLUMNS * cell, lines * height), 0)
    draw = ImageDraw.Draw(sheet)
    cells: dict[int, _Cell] = {}
    for number, (code, character) in enumerate(_BYTES.items()):
        left, _, right, _ = (int(edge) for edge in font.getbbox(character))
        x = number % _COLUMNS * cell + pixels // 2
        y = number // _COLUMNS * height
        draw.text((x, y), character, fill=255, font=font)
        cells[code] = _Cell(round(font.getlength(character)), left, right, x, y)
    sheet.save(target.with_suffix(".png"), optimize=True)
    target.with_suffix(".pil").write_bytes(_metrics(cells, ascent, descent))


def _metrics(cells: dict[int, _Cell], ascent: int, descent: int) -> bytes:
    """Pillow's .pil file, big-endian numbers of 16 bits.

    For each byte: the advance, the ink's box from the baseline, and its box in the sheet.
    """
    table = bytearray(b"PILfont\n" + f";;;;;;{ascent + descent};\n".encode() + b"DATA\n")
    for code in range(256):
        cell = cells.get(code)
        if cell is None:
            table += bytes(20)
            continue
        box = (cell.left, -ascent, cell.right, descent)
        source = (cell.x + cell.left, cell.y, cell.x + cell.right, cell.y + ascent + descent)
        table += struct.pack(">10h", cell.advance, 0, *box, *source)
    return bytes(table)


def main(arguments: list[str]) -> None:
    """Make the sheets of every Font: regular file, bold file, folder to write them to."""
    regular, bold, folder = (Path(argument) for argument in arguments)
    for font in Font:
        _, *weight, pixels = font.value.split("-")
        make_sheet(bold if weight else regular, int(pixels), folder / font.value)


if __name__ == "__main__":
    main(sys.argv[1:])
