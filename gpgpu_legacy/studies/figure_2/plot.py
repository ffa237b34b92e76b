"""What Figure 2 of Hall, Carr & Hart 2003 demonstrates, drawn from a run.

The picture itself was not at hand. Its caption speaks of the Larson-McAllister product of "a pair
of 4×4 matrices", with an output that is "saturated, such that results greater than one appear
uniformly white"; the text says what a pass combines. The layout is ours: a line for each pass, with
the column of A and the row of B that it replicates over a rectangle, their product, and the
framebuffer that adds the products up. Every panel was read back from an executor; the figure
computes nothing itself. Matrices are drawn with row 0 at the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.outputs import Write, write_whole
from gpgpu_legacy.plan.formats import UNORM8
from gpgpu_legacy.present.pictures import gif_of
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line, wrap
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.studies.figure_2.model import Demonstration

_Color = tuple[int, int, int]

# Only the accents have a hue. They stand out against every grey level, and are never blended with
# another colour: the palette of the animation relies on that.
_PAPER: _Color = (246, 246, 246)
_INK: _Color = (28, 28, 28)
_SOFT_INK: _Color = (92, 92, 92)
_RULE: _Color = (205, 205, 205)
_GRID: _Color = (92, 118, 152)
_MARK: _Color = (226, 92, 12)
_NAN: _Color = (204, 52, 64)
_ACCENTS = (_GRID, _MARK, _NAN)

# Lengths are in pixels.
_MARGIN = 36
_LABELS = 156
_PANEL = 160
_GAP = 56
_PITCH = _PANEL + _GAP
_WIDTH = 2 * _MARGIN + _LABELS + 4 * _PANEL + 3 * _GAP
_LARGEST_CELL = 56
_SPACE = 12
_LEGEND_CELLS = 11
_LEGEND_CELL = 24

_HEADS = (
    ("column i of A,", "replicated"),
    ("row i of B,", "replicated"),
    ("their", "product"),
    ("framebuffer", "after the pass"),
)
_OPERATORS = ("×", "=", "→")


def draw_figure_2(demonstration: Demonstration) -> Image.Image:
    """The figure as an RGB image: the operands, then a line of panels for each pass.

    Black is 0 or less, white is 1 or more; NaN is red.
    """
    return _page(demonstration, range(len(demonstration.frames)))


def animate_figure_2(demonstration: Demonstration, path: Path) -> None:
    """Write the figure as `animated_figure_2` does; InputError where the file cannot be written."""
    write_whole(path, animated_figure_2(demonstration))


def animated_figure_2(demonstration: Demonstration) -> Write:
    """What fills a GIF with the figure: each pass for a second, with its column and row marked; the
    last for three.
    """
    count = len(demonstration.frames)
    images = [_indexed(_page(demonstration, [i], marked=i)) for i in range(count)]
    return gif_of(images, [1000] * (count - 1) + [3000])


def _page(
    demonstration: Demonstration, shown: Sequence[int], marked: int | None = None
) -> Image.Image:
    """Title, operands, the passes that are shown, caption.

    marked: the column of A and the row of B to put a frame around.
    """
    m, n = demonstration.frames[0].product.shape
    caption = wrap(_caption(demonstration), Font.BODY, _WIDTH - 2 * _MARGIN)
    operands_height = _operands_height(demonstration)
    line_height = max(_span(m, _cell(m, n)), 2 * Font.BODY.line_height)

    title = _MARGIN
    operands = title + Font.TITLE.line_height + Font.BODY.line_height + 2 * _SPACE
    heads = operands + operands_height + 3 * _SPACE
    lines = heads + 2 * Font.BODY_BOLD.line_height + _SPACE
    foot = lines + len(shown) * (line_height + 2 * _SPACE)
    height = foot + _SPACE + len(caption) * Font.BODY.line_height + _MARGIN

    image = Image.new("RGB", (_WIDTH, height), _PAPER)
    draw = ImageDraw.Draw(image)
    _draw_title(draw, title, demonstration.shape)
    _draw_operands(draw, operands, demonstration, marked)
    _draw_rule(draw, heads - 3 * _SPACE // 2)
    _draw_heads(draw, heads)
    for place, number in enumerate(shown):
        middle = lines + place * (line_height + 2 * _SPACE) + line_height // 2
        _draw_pass(draw, middle, demonstration, number)
    _draw_rule(draw, foot - _SPACE // 2)
    for place, line in enumerate(caption):
        y = foot + _SPACE + place * Font.BODY.line_height
        draw_line(draw, _MARGIN, y, line, fill=_SOFT_INK)
    return image


def _caption(demonstration: Demonstration) -> str:
    options = demonstration.options
    sentences = [
        "Pass i draws one rectangle as large as the product: texture coordinates replicate "
        "column i of A and row i of B, the two textures are multiplied, and the framebuffer adds "
        "what is drawn to what it holds. Results greater than one appear uniformly white."
    ]
    if options.texture_format == UNORM8.name:
        sentences.append("Textures and framebuffer hold 8 bits, from 0 to 1, so sums end at 1.")
    transposed = [
        name for name, is_so in (("A", options.transpose_a), ("B", options.transpose_b)) if is_so
    ]
    if transposed:
        verb = "is" if len(transposed) == 1 else "are"
        sentences.append(f"{' and '.join(transposed)} {verb} stored transposed.")
    if options.as_printed:
        sentences.append("The texture coordinates are those printed in the paper's Figure 1.")
    sentences.append(
        "Made from what Hall, Carr & Hart 2003 write of their Figure 2, and its caption: the "
        "picture itself was not at hand, and the matrices are not the paper's."
    )
    return " ".join(sentences)


def _draw_title(draw: ImageDraw.ImageDraw, y: int, shape: Shape) -> None:
    title = "Larson-McAllister matrix multiplication"
    draw_line(draw, _MARGIN, y, title, Font.TITLE, fill=_INK)
    count = "1 pass" if shape.l == 1 else f"{shape.l} passes"
    sizes = f"C = A × B, {shape.m}×{shape.l} times {shape.l}×{shape.n}, in {count}"
    draw_line(draw, _MARGIN, y + Font.TITLE.line_height, sizes, fill=_SOFT_INK)


def _draw_rule(draw: ImageDraw.ImageDraw, y: int) -> None:
    draw.line((_MARGIN, y, _WIDTH - _MARGIN, y), fill=_RULE)


def _centre(column: int) -> int:
    """The x of a column's middle; columns are counted from 0, without the labels'."""
    return _MARGIN + _LABELS + column * _PITCH + _PANEL // 2


def _cell(*counts: int) -> int:
    """The side of a texel, so that as many as the greatest count fit across a column."""
    return min(_LARGEST_CELL, _PANEL // max(counts))


def _span(count: int, cell: int) -> int:
    """The length of a row of cells, in pixels, with a line on either side of each."""
    return count * cell + 1


def _operand_cell(demonstration: Demonstration) -> int:
    """Operands are drawn as large as the panels, and smaller only where they would not fit."""
    return _cell(*demonstration.a.shape, *demonstration.b.shape)


def _operands_height(demonstration: Demonstration) -> int:
    rows = max(demonstration.a.shape[0], demonstration.b.shape[0])
    panels = _span(rows, _operand_cell(demonstration))
    legend = _span(1, _LEGEND_CELL) + 2 * Font.BODY.line_height + _SPACE
    return Font.BODY_BOLD.line_height + _SPACE // 2 + max(panels, legend)


def _draw_operands(
    draw: ImageDraw.ImageDraw, y: int, demonstration: Demonstration, marked: int | None
) -> None:
    cell = _operand_cell(demonstration)
    height = _operands_height(demonstration)
    top = y + Font.BODY_BOLD.line_height + _SPACE // 2
    middle = (top + y + height) // 2
    for column, (name, matrix) in enumerate((("A", demonstration.a), ("B", demonstration.b))):
        left, upper = _draw_panel(draw, matrix, _centre(column), middle, cell)
        above = upper - Font.BODY_BOLD.line_height - _SPACE // 2
        draw_line(draw, _centre(column), above, name, Font.BODY_BOLD, align=Align.CENTRE, fill=_INK)
        if marked is not None:
            rows, columns = matrix.shape
            first = (0, marked) if name == "A" else (marked, 0)
            size = (rows, 1) if name == "A" else (1, columns)
            _draw_mark(draw, (left, upper), cell, first, size)
    _draw_legend(draw, middle, demonstration)


def _draw_heads(draw: ImageDraw.ImageDraw, y: int) -> None:
    for column, head in enumerate(_HEADS):
        for place, line in enumerate(head):
            at = y + place * Font.BODY_BOLD.line_height
            draw_line(
                draw, _centre(column), at, line, Font.BODY_BOLD, align=Align.CENTRE, fill=_INK
            )


def _draw_pass(
    draw: ImageDraw.ImageDraw, middle: int, demonstration: Demonstration, number: int
) -> None:
    """One line of panels, centred on the y `middle`."""
    label = f"pass {number + 1} of {len(demonstration.frames)}"
    draw_line(draw, _MARGIN, middle - Font.BODY.line_height, label, Font.BODY_BOLD, fill=_INK)
    draw_line(draw, _MARGIN, middle, f"i = {number}", fill=_SOFT_INK)
    frame = demonstration.frames[number]
    cell = _cell(*frame.product.shape)
    panels = (frame.column, frame.row, frame.product, frame.framebuffer)
    for column, values in enumerate(panels):
        _draw_panel(draw, values, _centre(column), middle, cell)
    for column, operator in enumerate(_OPERATORS):
        x = _centre(column) + _PITCH // 2
        y = middle - Font.TITLE.line_height // 2
        draw_line(draw, x, y, operator, Font.TITLE, align=Align.CENTRE, fill=_INK)


def _draw_panel(
    draw: ImageDraw.ImageDraw, values: F32, centre: int, middle: int, cell: int
) -> tuple[int, int]:
    """A matrix as grey cells in a grid, centred on a point; returns its left and upper edges."""
    rows, columns = values.shape
    width, height = _span(columns, cell), _span(rows, cell)
    left, upper = centre - width // 2, middle - height // 2
    draw.rectangle((left, upper, left + width - 1, upper + height - 1), fill=_GRID)
    for (i, j), value in np.ndenumerate(values):
        x, y = left + j * cell, upper + i * cell
        draw.rectangle((x + 1, y + 1, x + cell - 1, y + cell - 1), fill=_shade(float(value)))
    return left, upper


def _shade(value: float) -> _Color:
    if np.isnan(value):
        return _NAN
    level = round(255 * min(max(value, 0.0), 1.0))
    return (level, level, level)


def _draw_mark(
    draw: ImageDraw.ImageDraw,
    corner: tuple[int, int],
    cell: int,
    first: tuple[int, int],
    size: tuple[int, int],
) -> None:
    """A frame around cells of a panel: from which row and column, and how many of each."""
    x, y = corner[0] + first[1] * cell, corner[1] + first[0] * cell
    edges = (x - 1, y - 1, x + size[1] * cell + 1, y + size[0] * cell + 1)
    draw.rectangle(edges, outline=_MARK, width=3)


def _draw_legend(draw: ImageDraw.ImageDraw, middle: int, demonstration: Demonstration) -> None:
    """The grey levels and what they mean, beside the operands; NaN only where there is one."""
    scale = np.linspace(0.0, 1.0, _LEGEND_CELLS, dtype=np.float32)[None, :]
    centre = _centre(2) + (_span(_LEGEND_CELLS, _LEGEND_CELL) - _PANEL) // 2
    left, upper = _draw_panel(draw, scale, centre, middle, _LEGEND_CELL)
    above, below = upper - Font.BODY.line_height - _SPACE // 2, upper + _LEGEND_CELL + _SPACE // 2
    draw_line(draw, centre, above, "value of a texel", align=Align.CENTRE, fill=_INK)
    for place, label in ((0, "0"), (_LEGEND_CELLS // 2, "0.5"), (_LEGEND_CELLS - 1, "≥ 1")):
        x = left + place * _LEGEND_CELL + _LEGEND_CELL // 2
        draw_line(draw, x, below, label, align=Align.CENTRE, fill=_INK)
    if _has_nan(demonstration):
        x = left + _span(_LEGEND_CELLS, _LEGEND_CELL) + 2 * _LEGEND_CELL
        _draw_panel(draw, np.full((1, 1), np.nan, np.float32), x, middle, _LEGEND_CELL)
        draw_line(draw, x, below, "NaN", align=Align.CENTRE, fill=_INK)


def _has_nan(demonstration: Demonstration) -> bool:
    panels = [demonstration.a, demonstration.b]
    for frame in demonstration.frames:
        panels += [frame.column, frame.row, frame.product, frame.framebuffer]
    return any(bool(np.isnan(panel).any()) for panel in panels)


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
