"""Makes the glyph sheets of this folder from two TrueType files; README.md says how to run it."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from gpgpu_legacy.present.pixel_text import BEYOND_LATIN_1, Font

_COLUMNS = 16
_LATIN_1 = [*range(0x20, 0x7F), *range(0xA0, 0x100)]
_BYTES = {
    **{code: chr(code) for code in _LATIN_1},
    **{0x80 + i: character for i, character in enumerate(BEYOND_LATIN_1)},
}


def make_sheet(font_file: Path, pixels: int, target: Path) -> None:
    """Write target.png and target.pil: the glyphs of a TrueType file at a size.

    Glyphs are anti-aliased and hinted, without kerning, and their advances are whole pixels. The
    .pil is Pillow's, with big-endian numbers of 16 bits. For each byte it has the advance, the box
    of the glyph's ink from the baseline, and its box in the sheet.
    """
    font = ImageFont.truetype(font_file, pixels, layout_engine=ImageFont.Layout.BASIC)
    ascent, descent = font.getmetrics()
    cell = 2 * pixels
    height = ascent + descent
    lines = -(-len(_BYTES) // _COLUMNS)
    sheet = Image.new("L", (_COLUMNS * cell, lines * height), 0)
    draw = ImageDraw.Draw(sheet)
    places = bytearray(20 * 256)
    for number, (code, character) in enumerate(_BYTES.items()):
        left, _, right, _ = (int(edge) for edge in font.getbbox(character))
        x = number % _COLUMNS * cell + pixels // 2
        y = number // _COLUMNS * height
        draw.text((x, y), character, fill=255, font=font)
        ink = (left, -ascent, right, descent, x + left, y, x + right, y + height)
        struct.pack_into(">10h", places, 20 * code, round(font.getlength(character)), 0, *ink)
    sheet.save(target.with_suffix(".png"), optimize=True)
    target.with_suffix(".pil").write_bytes(f"PILfont\n;;;;;;{height};\nDATA\n".encode() + places)


def main(arguments: list[str]) -> None:
    """Make the sheets of every Font: regular file, bold file, folder to write them to."""
    regular, bold, folder = (Path(argument) for argument in arguments)
    for font in Font:
        _, *weight, pixels = font.value.split("-")
        make_sheet(bold if weight else regular, int(pixels), folder / font.value)


if __name__ == "__main__":
    main(sys.argv[1:])
