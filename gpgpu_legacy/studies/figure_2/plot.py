"""What Figure 2 of Hall, Carr & Hart 2003 demonstrates, drawn from a run.

The picture itself was not at hand. Its caption speaks of the Larson-McAllister product of "a pair
of 4×4 matrices", with an output that is "saturated, such that results greater than one appear
uniformly white"; the text says what a pass combines. The layout is ours: a line for each pass, with
the column of A and the row of B that it replicates over a rectangle, their product, and the
framebuffer that adds the products up. Every panel was read back from an executor; the figure
computes nothing itself. Matrices are drawn with row 0 at the top, and each texel has its value in
it. A panel's greys reach from 0 to 1, or as far as its values do.

A scale begins at 0, or at the least value if that is negative. It ends at 1 if the values fill a
quarter of that or more without exceeding it, and else at the greatest value. A, B, and the results
(products and framebuffers) have scales of their own where these differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.ImageDraw import ImageDraw

from gpgpu_legacy.files import Write
from gpgpu_legacy.plan.formats import UNORM8
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.pictures import animation_of
from gpgpu_legacy.present.pixel_text import Font, draw_line
from gpgpu_legacy.studies.pages import (
    INK,
    MARGIN,
    MARK,
    SOFT_INK,
    SPACE,
    draw_centred,
    draw_operators,
    page,
)

if TYPE_CHECKING:
    from gpgpu_legacy.studies.figure_2.model import Demonstration

Values = NDArray[np.floating]

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
        self._operands = {"A": demonstration.a, "B": demonstration.b}
        self._scales = scales_of(demonstration)
        self._scale = {name: scale for scale in self._scales for name in scale.names}
        text = max(Font.SMALL.width(text) for scale in self._scales for text in scale.texts)
        (m, l), (_, n) = demonstration.a.shape, demonstration.b.shape  # noqa: E741
        most, rows = max(m, l, n), max(m, l)
        smallest = max(text, Font.SMALL.line_height) + 2 * _CELL_PADDING
        self._cell = max(smallest, min(_LARGEST_CELL, _SMALLEST_PANEL // most))
        self._panel = max(_SMALLEST_PANEL, _span(most, self._cell))
        first = MARGIN + _LABELS + self._panel // 2
        self._centres = [first + column * (self._panel + _GAP) for column in range(len(_HEADS))]
        self._width = 2 * MARGIN + _LABELS + 4 * self._panel + 3 * _GAP
        largest = min(_THUMBNAILS_WIDTH // (l + n), _THUMBNAILS_HEIGHT // rows)
        self._thumbnail_cell = min(_LARGEST_THUMBNAIL_CELL, largest)
        label = 2 * Font.BODY.line_height + SPACE // 2 + _span(rows, self._thumbnail_cell)
        self._label_height = label
        self._line_height = max(_span(m, self._cell), label)
        self._legend_height = len(self._scales) * _LEGEND_PITCH - SPACE
        self._name_height = Font.BODY_BOLD.line_height + SPACE // 2
        self._operands_height = max(_span(rows, self._cell), self._legend_height)

    def drawn(self, shown: Sequence[int], marked: int | None = None) -> Image.Image:
        """Title, operands, the passes that are shown, caption.

        marked: the column of A and the row of B to put a frame around; if None, each pass has a
        small picture of both beside it.
        """

        def draw_operands(draw: ImageDraw, y: int) -> None:
            middle = (2 * (y + self._name_height) + self._operands_height) // 2
            for name, centre in zip(self._operands, self._centres, strict=False):
                panel = self._panel_of(name)
                corner = panel.draw(draw, centre, middle)
                draw_centred(draw, centre, corner[1] - self._name_height, name, Font.BODY_BOLD)
                if marked is not None:
                    panel.mark(draw, corner, name, marked)
            self._draw_legend(draw, middle)

        def draw_passes(draw: ImageDraw, y: int) -> None:
            for number in shown:
                middle = y + self._line_height // 2
                self._draw_pass(draw, middle, number, thumbnails=marked is None)
                y += self._line_height + 2 * SPACE

        demonstration = self._demonstration
        count = len(demonstration.frames)
        return page(
            self._width,
            "Larson-McAllister matrix multiplication",
            [f"C = A × B, {demonstration.sizes}, in {count} pass{'es' * (count > 1)}"],
            upper=(self._name_height + self._operands_height, draw_operands),
            heads=dict(zip(self._centres, _HEADS, strict=True)),
            lower=(len(shown) * (self._line_height + 2 * SPACE), draw_passes),
            caption=_caption(
                demonstration, self._scale["framebuffer"].white, thumbnails=marked is None
            ),
        )

    def _panel_of(self, name: str, values: Values | None = None, cell: int = 0) -> _Panel:
        """The panel of an operand or of other values; with a cell, a small one without texts."""
        shown = self._operands[name] if values is None else values
        return _Panel(shown, self._scale[name], cell or self._cell, with_text=not cell)

    def _draw_pass(self, draw: ImageDraw, middle: int, number: int, *, thumbnails: bool) -> None:
        """One line of panels, centred on the y `middle`, with its label.

        thumbnails: with A and B, the pass's column and row framed.
        """
        top = middle - (self._label_height // 2 if thumbnails else Font.BODY.line_height)
        label = f"pass {number + 1} of {len(self._demonstration.frames)}"
        draw_line(draw, MARGIN, top, label, Font.BODY_BOLD, fill=INK)
        draw_line(draw, MARGIN, top + Font.BODY.line_height, f"i = {number}", fill=SOFT_INK)
        if thumbnails:
            x, cell = MARGIN, self._thumbnail_cell
            y = top + 2 * Font.BODY.line_height + SPACE // 2
            for name, values in self._operands.items():
                height, width = (_span(count, cell) for count in values.shape)
                panel = self._panel_of(name, cell=cell)
                corner = panel.draw(draw, x + width // 2, y + height // 2)
                panel.mark(draw, corner, name, number)
                x += width + SPACE
        frame = self._demonstration.frames[number]
        panels = {
            "A": frame.column,
            "B": frame.row,
            "product": frame.product,
            "framebuffer": frame.framebuffer,
        }
        for centre, (name, values) in zip(self._centres, panels.items(), strict=True):
            self._panel_of(name, values).draw(draw, centre, middle)
        draw_operators(draw, self._centres, middle, "×=→")

    def _draw_legend(self, draw: ImageDraw, middle: int) -> None:
        """The grey levels of each scale, beside the operands; NaN only where there is one."""
        length = _span(_LEGEND_CELLS, _LEGEND_CELL)
        left = self._centres[2] - self._panel // 2
        centre = left + length // 2
        for place, scale in enumerate(self._scales):
            top = middle - self._legend_height // 2 + place * _LEGEND_PITCH
            draw_centred(draw, centre, top, scale.title)
            across = top + Font.BODY.line_height + SPACE // 2 + _LEGEND_CELL // 2
            below = across + _LEGEND_CELL // 2 + SPACE // 2
            cells = {centre: np.linspace(scale.black, scale.white, _LEGEND_CELLS)[None, :]}
            for tick, label in zip((0, 0.5, 1), scale.ticks, strict=True):
                x = left + _LEGEND_CELL // 2 + round(tick * (length - _LEGEND_CELL))
                draw_centred(draw, x, below, label)
            if scale.has_nan:
                x = left + length + 2 * _LEGEND_CELL
                cells[x] = np.full((1, 1), np.nan)
                draw_centred(draw, x, below, "NaN")
            for x, values in cells.items():
                _Panel(values, scale, _LEGEND_CELL, with_text=False).draw(draw, x, across)


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    """A matrix as grey cells in a grid, on a scale, with or without its values in the cells."""

    values: Values
    scale: Scale
    cell: int
    with_text: bool = True

    def draw(self, draw: ImageDraw, centre: int, middle: int) -> tuple[int, int]:
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

    def mark(self, draw: ImageDraw, corner: tuple[int, int], name: str, number: int) -> None:
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


# Scales -----------------------------------------------------------------------------------------

_ALL_PANELS = ("A", "B", "product", "framebuffer")
_LEAST_FILLED = 0.25
_SMALL = 5
_MANY_DECIMALS = 3
_FEW_DECIMALS = 2
_LARGEST_PLAIN = 1e4
_SMALLEST_PLAIN = 0.1


@dataclass(frozen=True, eq=False)
class Scale:
    """Greys and texts for some panels.

    names: of the panels. values: all that they show. black, white: the values at the ends.
    most_decimals: of a value in a cell.
    """

    names: tuple[str, ...]
    values: Values
    black: float
    white: float
    most_decimals: int

    @property
    def title(self) -> str:
        """What the panels are, for the legend."""
        if self.names == _ALL_PANELS:
            return "value of a texel"
        return " and ".join(self.names)

    @property
    def has_nan(self) -> bool:
        """Whether a value is NaN."""
        return bool(np.isnan(self.values).any())

    @property
    def ticks(self) -> tuple[str, str, str]:
        """The values at the ends and in the middle."""
        low, high = self.values.min(initial=0.0), self.values.max(initial=0.0)
        middle = (self.black + self.white) / 2
        return (
            f"{'≤ ' if low < self.black else ''}{self.black:.3g}",
            f"{middle:.3g}",
            f"{'≥ ' if high > self.white else ''}{self.white:.3g}",
        )

    def level(self, value: float) -> int | None:
        """The grey, from 0 to 255; None for NaN, which has none."""
        if np.isnan(value):
            return None
        share = (value - self.black) / (self.white - self.black)
        return round(255 * min(max(share, 0.0), 1.0))

    @cached_property
    def _decimals(self) -> int | None:
        """As few as show all values exactly, but not more than `most_decimals`.

        None where the largest values are so large or small that a power of ten tells more.
        """
        finite = self.values[np.isfinite(self.values)].astype(np.float64)
        if not _SMALLEST_PLAIN <= np.abs(finite).max(initial=_SMALLEST_PLAIN) < _LARGEST_PLAIN:
            return None
        for decimals in range(self.most_decimals):
            if np.array_equal(np.round(finite, decimals), finite):
                return decimals
        return self.most_decimals

    def text(self, value: float) -> str:
        """A value as it is written in its cell."""
        if not np.isfinite(value):
            return f"{value:g}"
        return f"{value:.1e}" if self._decimals is None else f"{value:.{self._decimals}f}"

    @property
    def texts(self) -> Iterable[str]:
        """The texts of all values."""
        return map(self.text, map(float, self.values.flat))


def scales_of(demonstration: Demonstration) -> tuple[Scale, ...]:
    """The scales of a demonstration: panels that can share one do."""
    frames = demonstration.frames
    groups: dict[tuple[str, ...], list[Values]] = {
        ("A",): [demonstration.a, *(frame.column for frame in frames)],
        ("B",): [demonstration.b, *(frame.row for frame in frames)],
        ("product", "framebuffer"): [
            *(frame.product for frame in frames),
            *(frame.framebuffer for frame in frames),
        ],
    }
    largest = (*demonstration.a.shape, *demonstration.b.shape)
    shared: dict[tuple[float, float], Scale] = {}
    for names, panels in groups.items():
        values = np.concatenate([panel.ravel() for panel in panels])
        ends = _ends(values)
        before = shared.get(ends)
        shared[ends] = Scale(
            names if before is None else (*before.names, *names),
            values if before is None else np.concatenate([before.values, values]),
            *ends,
            _FEW_DECIMALS if max(largest) > _SMALL else _MANY_DECIMALS,
        )
    return tuple(shared.values())


def _ends(values: Values) -> tuple[float, float]:
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    span = max(high, -low)
    white = 1.0 if span == 0 or (_LEAST_FILLED <= high <= 1) else float(high)
    return float(low), white
