"""What Figure 2 of Hall, Carr & Hart 2003 demonstrates, drawn from a run.

The picture itself was not at hand. Its caption speaks of the Larson-McAllister product of "a pair
of 4×4 matrices", with an output that is "saturated, such that results greater than one appear
uniformly white"; the text says what a pass combines. The layout is ours: a line for each pass, with
the column of A and the row of B that it replicates over a rectangle, their product, and the
framebuffer that adds the products up. Every panel was read back from an executor; the figure
computes nothing itself. Matrices are drawn with row 0 at the top, and each texel has its value in
it. A panel's greys reach from 0 to 1, or as far as its values do: scales.py says how far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from gpgpu_legacy.files import Write
from gpgpu_legacy.plan.formats import UNORM8
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.pictures import animation_of
from gpgpu_legacy.present.pixel_text import Font, draw_line, wrap
from gpgpu_legacy.studies.figure_2.scales import Scale, Values, scale_for, scales_of
from gpgpu_legacy.studies.pages import (
    INK,
    MARGIN,
    MARK,
    PAPER,
    RULE,
    SOFT_INK,
    SPACE,
    draw_centred,
    draw_lines,
)

if TYPE_CHECKING:
    from gpgpu_legacy.studies.figure_2.model import Demonstration

# Only the accents have a hue. They stand out against every grey level, and are never blended with
# another colour: the palette of the animation relies on that.
_GRID: Colour = (92, 118, 152)
_NAN: Colour = (204, 52, 64)
_ACCENTS = (_GRID, MARK, _NAN)
_ON_LIGHT: Colour = (0, 0, 0)
_ON_DARK: Colour = (255, 255, 255)
_MIDDLE_LEVEL = 117  # on lighter greys, black has more contrast (WCAG 2.1) than white

# Lengths are in pixels.
_LABELS = 156
_SMALLEST_PANEL = 160
_GAP = 56
_LARGEST_CELL = 56
_LEGEND_CELLS = 11
_LEGEND_CELL = 24
_THUMBNAILS_WIDTH = 128
_THUMBNAILS_HEIGHT = 96
_LARGEST_THUMBNAIL_CELL = 15
_CELL_PADDING = 3
_SMALLEST_WITH_LINES = 8
_LEGEND_PITCH = 2 * Font.BODY.line_height + _LEGEND_CELL + 3 * SPACE

_HEADS = (
    ("column i of A,", "replicated"),
    ("row i of B,", "replicated"),
    ("their", "product"),
    ("framebuffer", "after the pass"),
)
_OPERATORS = ("×", "=", "→")


def draw_figure_2(demonstration: Demonstration) -> Image.Image:
    """The figure as an RGB image: the operands, then a line of panels for each pass.

    Black is 0 and white is 1, unless the legend gives another scale; NaN is red.
    Each pass has small pictures of A and B, with the column and the row that it takes framed.
    """
    return _Page(demonstration).drawn(range(len(demonstration.frames)))


def animated_figure_2(demonstration: Demonstration) -> Write:
    """What fills a GIF with the figure: each pass for a second, with its column and row marked; the
    last for three.
    """
    count = len(demonstration.frames)
    page = _Page(demonstration)
    images = [_indexed(page.drawn([i], marked=i)) for i in range(count)]
    return animation_of(images, [1000] * (count - 1) + [3000])


class _Page:
    """The figure of one demonstration; how large its panels are follows from the texts in them."""

    def __init__(self, demonstration: Demonstration) -> None:
        self._demonstration = demonstration
        self._scales = scales_of(demonstration)
        text = max(Font.SMALL.width(text) for scale in self._scales for text in scale.texts)
        m, n = demonstration.frames[0].product.shape
        counts = (m, n, *demonstration.a.shape, *demonstration.b.shape)
        smallest = max(text, Font.SMALL.line_height) + 2 * _CELL_PADDING
        fitting = _SMALLEST_PANEL // max(counts)
        self._cell = max(smallest, min(_LARGEST_CELL, fitting))
        self._panel = max(_SMALLEST_PANEL, _span(max(counts), self._cell))
        self._pitch = self._panel + _GAP
        self._width = 2 * MARGIN + _LABELS + 4 * self._panel + 3 * _GAP
        self._line_height = max(_span(m, self._cell), _label_height(demonstration))
        self._legend_height = len(self._scales) * _LEGEND_PITCH - SPACE
        rows = max(demonstration.a.shape[0], demonstration.b.shape[0])
        self._operands_height = (
            Font.BODY_BOLD.line_height
            + SPACE // 2
            + max(_span(rows, self._cell), self._legend_height)
        )

    def drawn(self, shown: Sequence[int], marked: int | None = None) -> Image.Image:
        """Title, operands, the passes that are shown, caption.

        marked: the column of A and the row of B to put a frame around; if None, each pass has a
        small picture of both beside it.
        """
        demonstration = self._demonstration
        white = scale_for(self._scales, "framebuffer").white
        words = _caption(demonstration, white, thumbnails=marked is None)
        caption = wrap(words, Font.BODY, self._width - 2 * MARGIN)

        title = MARGIN
        operands = title + Font.TITLE.line_height + Font.BODY.line_height + 2 * SPACE
        heads = operands + self._operands_height + 3 * SPACE
        lines = heads + 2 * Font.BODY_BOLD.line_height + SPACE
        foot = lines + len(shown) * (self._line_height + 2 * SPACE)
        height = foot + SPACE + len(caption) * Font.BODY.line_height + MARGIN

        image = Image.new("RGB", (self._width, height), PAPER)
        draw = ImageDraw.Draw(image)
        _draw_title(draw, title, demonstration)
        self._draw_operands(draw, operands, marked)
        self._draw_rule(draw, heads - 3 * SPACE // 2)
        self._draw_heads(draw, heads)
        for place, number in enumerate(shown):
            middle = lines + place * (self._line_height + 2 * SPACE) + self._line_height // 2
            self._draw_pass(draw, middle, number, thumbnails=marked is None)
        self._draw_rule(draw, foot - SPACE // 2)
        draw_lines(draw, foot + SPACE, caption)
        return image

    def _centre(self, column: int) -> int:
        """The x of a column's middle; columns are counted from 0, without the labels'."""
        return MARGIN + _LABELS + column * self._pitch + self._panel // 2

    def _draw_rule(self, draw: ImageDraw.ImageDraw, y: int) -> None:
        draw.line((MARGIN, y, self._width - MARGIN, y), fill=RULE)

    def _draw_operands(self, draw: ImageDraw.ImageDraw, y: int, marked: int | None) -> None:
        demonstration = self._demonstration
        top = y + Font.BODY_BOLD.line_height + SPACE // 2
        middle = (top + y + self._operands_height) // 2
        for column, (name, values) in enumerate((("A", demonstration.a), ("B", demonstration.b))):
            panel = _Panel(values, scale_for(self._scales, name), self._cell)
            corner = panel.draw(draw, self._centre(column), middle)
            above = corner[1] - Font.BODY_BOLD.line_height - SPACE // 2
            draw_centred(draw, self._centre(column), above, name, Font.BODY_BOLD)
            if marked is not None:
                panel.mark(draw, corner, name, marked)
        self._draw_legend(draw, middle)

    def _draw_heads(self, draw: ImageDraw.ImageDraw, y: int) -> None:
        for column, head in enumerate(_HEADS):
            for place, line in enumerate(head):
                at = y + place * Font.BODY_BOLD.line_height
                draw_centred(draw, self._centre(column), at, line, Font.BODY_BOLD)

    def _draw_pass(
        self, draw: ImageDraw.ImageDraw, middle: int, number: int, *, thumbnails: bool
    ) -> None:
        """One line of panels, centred on the y `middle`, with its label."""
        demonstration = self._demonstration
        top = middle - (_label_height(demonstration) // 2 if thumbnails else Font.BODY.line_height)
        label = f"pass {number + 1} of {len(demonstration.frames)}"
        draw_line(draw, MARGIN, top, label, Font.BODY_BOLD, fill=INK)
        draw_line(draw, MARGIN, top + Font.BODY.line_height, f"i = {number}", fill=SOFT_INK)
        if thumbnails:
            self._draw_thumbnails(draw, top + 2 * Font.BODY.line_height + SPACE // 2, number)
        frame = demonstration.frames[number]
        panels = (
            ("A", frame.column),
            ("B", frame.row),
            ("product", frame.product),
            ("framebuffer", frame.framebuffer),
        )
        for column, (name, values) in enumerate(panels):
            panel = _Panel(values, scale_for(self._scales, name), self._cell)
            panel.draw(draw, self._centre(column), middle)
        for column, operator in enumerate(_OPERATORS):
            x = self._centre(column) + self._pitch // 2
            y = middle - Font.TITLE.line_height // 2
            draw_centred(draw, x, y, operator, Font.TITLE)

    def _draw_thumbnails(self, draw: ImageDraw.ImageDraw, y: int, number: int) -> None:
        """A and B without their values, the pass's column and row framed, with their tops at y."""
        demonstration = self._demonstration
        cell = _thumbnail_cell(demonstration)
        x = MARGIN
        for name, values in (("A", demonstration.a), ("B", demonstration.b)):
            rows, columns = values.shape
            panel = _Panel(values, scale_for(self._scales, name), cell, with_text=False)
            centre, middle = x + _span(columns, cell) // 2, y + _span(rows, cell) // 2
            panel.mark(draw, panel.draw(draw, centre, middle), name, number)
            x += _span(columns, cell) + SPACE

    def _draw_legend(self, draw: ImageDraw.ImageDraw, middle: int) -> None:
        """The grey levels of each scale, beside the operands; NaN only where there is one."""
        length = _span(_LEGEND_CELLS, _LEGEND_CELL)
        left = self._centre(2) - self._panel // 2
        centre = left + length // 2
        for place, scale in enumerate(self._scales):
            top = middle - self._legend_height // 2 + place * _LEGEND_PITCH
            draw_centred(draw, centre, top, scale.title)
            across = top + Font.BODY.line_height + SPACE // 2 + _LEGEND_CELL // 2
            levels = np.linspace(scale.black, scale.white, _LEGEND_CELLS)[None, :]
            _Panel(levels, scale, _LEGEND_CELL, with_text=False).draw(draw, centre, across)
            below = across + _LEGEND_CELL // 2 + SPACE // 2
            for tick, label in zip((0, 0.5, 1), scale.ticks, strict=True):
                x = left + _LEGEND_CELL // 2 + round(tick * (length - _LEGEND_CELL))
                draw_centred(draw, x, below, label)
            if scale.has_nan:
                x = left + length + 2 * _LEGEND_CELL
                nan = np.full((1, 1), np.nan, np.float32)
                _Panel(nan, scale, _LEGEND_CELL, with_text=False).draw(draw, x, across)
                draw_centred(draw, x, below, "NaN")


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    """A matrix as grey cells in a grid, on a scale, with or without its values in the cells."""

    values: Values
    scale: Scale
    cell: int
    with_text: bool = True

    def draw(self, draw: ImageDraw.ImageDraw, centre: int, middle: int) -> tuple[int, int]:
        """Centred on a point; returns the left and the upper edge."""
        rows, columns = self.values.shape
        cell = self.cell
        width, height = _span(columns, cell), _span(rows, cell)
        left, upper = centre - width // 2, middle - height // 2
        draw.rectangle((left, upper, left + width - 1, upper + height - 1), fill=_GRID)
        for (i, j), value in np.ndenumerate(self.values):
            x, y = left + j * cell, upper + i * cell
            level = self.scale.level(float(value))
            shade = _NAN if level is None else (level, level, level)
            line = 1 if cell >= _SMALLEST_WITH_LINES else 0
            draw.rectangle((x + 1, y + 1, x + cell - line, y + cell - line), fill=shade)
            if self.with_text and level is not None:
                text_y = y + (cell - Font.SMALL.line_height) // 2
                ink = _ON_LIGHT if level > _MIDDLE_LEVEL else _ON_DARK
                text = self.scale.text(float(value))
                middle_x = x + cell // 2 + 1
                draw_centred(draw, middle_x, text_y, text, Font.SMALL, fill=ink)
        return left, upper

    def mark(
        self, draw: ImageDraw.ImageDraw, corner: tuple[int, int], name: str, number: int
    ) -> None:
        """A frame around column `number` of A, or row `number` of B."""
        rows, columns = self.values.shape
        first = (0, number) if name == "A" else (number, 0)
        size = (rows, 1) if name == "A" else (1, columns)
        x, y = corner[0] + first[1] * self.cell, corner[1] + first[0] * self.cell
        edges = (x - 1, y - 1, x + size[1] * self.cell + 1, y + size[0] * self.cell + 1)
        draw.rectangle(edges, outline=MARK, width=3 if self.with_text else 2)


def _span(count: int, cell: int) -> int:
    """The length of a row of cells, in pixels, with a line on either side of each."""
    return count * cell + 1


def _thumbnail_cell(demonstration: Demonstration) -> int:
    rows: int = max(demonstration.a.shape[0], demonstration.b.shape[0])
    columns = demonstration.a.shape[1] + demonstration.b.shape[1]
    largest: int = min(_THUMBNAILS_WIDTH // columns, _THUMBNAILS_HEIGHT // rows)
    return min(_LARGEST_THUMBNAIL_CELL, largest)


def _label_height(demonstration: Demonstration) -> int:
    """Two lines of text and the small pictures of A and B below."""
    rows = max(demonstration.a.shape[0], demonstration.b.shape[0])
    thumbnail = _span(rows, _thumbnail_cell(demonstration))
    return 2 * Font.BODY.line_height + SPACE // 2 + thumbnail


def _caption(demonstration: Demonstration, white: float, *, thumbnails: bool) -> str:
    """white: the value of a framebuffer that is white. thumbnails: whether A and B are beside."""
    chosen = demonstration.parameters
    sentences = [
        "Pass i draws one rectangle as large as the product: texture coordinates replicate "
        "column i of A and row i of B, the two textures are multiplied, and the framebuffer adds "
        "what is drawn to what it holds."
    ]
    if thumbnails:
        sentences.append("Below a pass's number are A and B, with that column and that row framed.")
    if white > 1:
        sentences.append(
            "In the paper's picture, results greater than one appear uniformly white; here the "
            f"greys of products and framebuffers end at {white:.3g}, so that they differ."
        )
    if chosen["texture_format"] == UNORM8.name:
        sentences.append("Textures and framebuffer hold 8 bits, from 0 to 1, so sums end at 1.")
    transposed = [name for name in "AB" if chosen[f"transpose_{name.lower()}"]]
    if transposed:
        verb = "is" if len(transposed) == 1 else "are"
        sentences.append(f"{' and '.join(transposed)} {verb} stored transposed.")
    if chosen["as_printed"]:
        sentences.append("The texture coordinates are those printed in the paper's Figure 1.")
    sentences.append(
        "Made from what Hall, Carr & Hart 2003 write of their Figure 2, and its caption: the "
        "picture itself was not at hand, and the matrices are not the paper's."
    )
    return " ".join(sentences)


def _draw_title(draw: ImageDraw.ImageDraw, y: int, demonstration: Demonstration) -> None:
    title = "Larson-McAllister matrix multiplication"
    draw_line(draw, MARGIN, y, title, Font.TITLE, fill=INK)
    count = len(demonstration.frames)
    sizes = f"C = A × B, {demonstration.sizes}, in {count} pass{'es' * (count > 1)}"
    draw_lines(draw, y + Font.TITLE.line_height, [sizes])


def _indexed(image: Image.Image) -> Image.Image:
    """The image with a palette of greys and accents, the same in every frame of an animation.

    A palette made from each image would shift the greys from frame to frame, and white with them.
    """
    greys = 256 - len(_ACCENTS)
    pixels = np.asarray(image)
    indices = np.rint(pixels[..., 0] * ((greys - 1) / 255)).astype(np.uint8)
    palette = [round(level * 255 / (greys - 1)) for level in range(greys) for _ in range(3)]
    for number, accent in enumerate(_ACCENTS):
        indices[(pixels == accent).all(axis=-1)] = greys + number
        palette += accent
    indexed = Image.fromarray(indices)
    indexed.putpalette(palette)
    return indexed
