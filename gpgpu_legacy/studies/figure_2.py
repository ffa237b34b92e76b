"""Figure 2 of Hall, Carr & Hart 2003 from a run: a Larson-McAllister product, pass by pass.

The picture itself was not at hand. Its caption speaks of the Larson-McAllister product of "a pair
of 4×4 matrices", with an output that is "saturated, such that results greater than one appear
uniformly white"; the text describes the operands of a pass. The layout is ours: a line for each
pass, with the column of A and the row of B that it replicates over a rectangle, their product, and
the framebuffer that adds the products up. Every array was read back from an executor; nothing is
computed here. Matrices are drawn with row 0 at the top, and each texel has its value in it.

A scale of greys begins at 0, or at the least value if that is negative. It ends at 1 if the
greatest value is from 0.25 to 1, or if all values are 0, and else at the greatest value. A, B, and
the results (products and framebuffers) have scales of their own where these differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, product
from math import isnan
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from PIL.ImageDraw import Draw

from gpgpu_legacy.algorithms.matmul.larson_mcallister import (
    DEMONSTRATION_A,
    DEMONSTRATION_B,
    larson_mcallister,
)
from gpgpu_legacy.algorithms.parameters import Plain
from gpgpu_legacy.api.command.frame import answers
from gpgpu_legacy.api.command.options import FILM
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.files import Write, write_whole
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import FragmentPass, Pass
from gpgpu_legacy.plan.textures import UNORM8
from gpgpu_legacy.present.animation import film_of, png_of
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.grid import Grid, fill
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.serial import Record, fields_of
from gpgpu_legacy.studies.shared.operands import EXACT, ShownFactors, ShownProduct, matrices_for

METHOD = larson_mcallister

LARGEST = 16
"""Rows and columns of the largest matrices to draw: texels of larger ones cannot be counted."""


class Frame(Record):
    """One pass: four m×n float32 arrays, row 0 first.

    column: column i of A, replicated. row: row i of B, replicated. product: column times row.
    framebuffer: its contents after the pass, the sum so far.
    """

    column: F32
    row: F32
    product: F32
    framebuffer: F32


class PassByPass(ShownFactors):
    """A Larson-McAllister product, pass by pass.

    a, b: m×l and l×n float32. frames: one for each pass. corners: for each pass, the texture
    coordinates s and t at the corners of its rectangle, of A and then of B: counterclockwise, from
    the corner of texel (0, 0).
    """

    parameters: Mapping[str, Plain]
    frames: tuple[Frame, ...]
    corners: F32

    def plot(self, path: Path) -> None:
        """Write the picture as a .png, or the animation as a .gif."""
        is_film = path.suffix.lower() == ".gif"
        write_whole(path, self.animation() if is_film else png_of(self.picture()))

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The passes: the column and the row that each takes, and the framebuffer after it."""
        heads = ("pass", "column of A", "row of B", "framebuffer, row by row")
        rows = tuple(
            (number, _text(frame.column[:, 0]), _text(frame.row[0]), _text(frame.framebuffer))
            for number, frame in enumerate(self.frames, 1)
        )
        caption = f"{METHOD.name}, {self.sizes}, pass by pass; --plot draws it."
        return [Grid("figure-2", caption, heads, rows)]

    def picture(self) -> Image.Image:
        """The operands, then a line of panels for each pass.

        Black is 0 and white is 1, unless the legend gives another scale; NaN is red.
        Each pass has small pictures of A and B, with the column and the row that it takes framed.
        """
        return _Page(self).drawn()

    def animation(self) -> Write:
        """Each pass panel by panel, with its column and row marked; the last sum stays.

        Every other grey is left out, so that all pictures fit one palette.
        """
        count = len(self.frames)
        drawn = [
            np.asarray(_Page(self, number, panels).drawn()) & np.uint8(254)
            for number, panels in product(range(count), range(1, len(_PANELS) + 1))
        ]
        return film_of(drawn, [*(_PANELS_MS * count)[:-1], 3000])


def _text(values: F32) -> str:
    """The rows of numbers as text, with semicolons between them."""
    return "; ".join(" ".join(f"{v:.3g}" for v in row) for row in np.atleast_2d(values))


def demonstrate(
    executor: Executor,
    p: PlanBuilder | None = None,
    given: Mapping[str, ArrayLike] | None = None,
    seed: int | None = None,
) -> PassByPass:
    """Run larson-mcallister on an executor, and keep the panels of every pass.

    p: the builder of the product, of 1 to 16 rows and columns; by default 4×4. given: A and B.
    Without them they are random, or the figure's own where these fit and there is no seed. Raises
    InputError for other sizes, and for parameters other than the sizes, the texture format and the
    state.
    """
    p = p or METHOD.builder(n=len(DEMONSTRATION_A))
    own, plan = {"A": DEMONSTRATION_A, "B": DEMONSTRATION_B}, p.plan()
    free = ("texture_format", "state")
    operands = matrices_for(p, LARGEST, given, own, seed=seed, free=free)
    steps = [*passes(plan)]

    def drawn(*steps: Pass) -> F32:
        return executor.run(replace(plan, steps=steps), operands, EXACT).outputs["C"]

    column, row = map(_lookup, range(2))
    frames, corners = [], []
    for number, pass_ in enumerate(steps, 1):
        if isinstance(pass_, FragmentPass):
            alone = replace(pass_, blend=None)
            frames.append(
                Frame(
                    column=drawn(replace(alone, program=column)),
                    row=drawn(replace(alone, program=row)),
                    product=drawn(alone),
                    framebuffer=drawn(*steps[:number]),
                )
            )
            corners.append([texcoords.corners for texcoords in pass_.texcoords])
    return PassByPass(
        parameters=p.parameters,
        a=operands["A"],
        b=operands["B"],
        frames=tuple(frames),
        corners=np.array(corners, np.float32)[..., :2],
    )


def _lookup(unit: int) -> Program:
    """A program that draws the texture of one unit, at the texture coordinates of the pass."""
    lookup = f"TEX result.color, fragment.texcoord[{unit}], texture[{unit}], RECT;"
    return assemble(f"!!ARBfp1.0\n{lookup}\nEND\n", f"lookup of unit {unit}")


# The picture --------------------------------------------------------------------------------------

# Only the accents have a hue. They stand out against every grey level.
PAPER = (246, 246, 246)
INK = (28, 28, 28)
SOFT_INK = (92, 92, 92)
RULE = (205, 205, 205)
MARK = (226, 92, 12)
_GRID = (92, 118, 152)
_NAN = (204, 52, 64)
_ON_LIGHT = (0, 0, 0)
_ON_DARK = (255, 255, 255)
_MIDDLE_LEVEL = 117  # on lighter greys, black has more contrast (WCAG 2.1) than white

# Lengths are in pixels.
MARGIN, SPACE = 36, 12
_LABELS = 156
_SMALLEST_PANEL = 160
_GAP = 56
_LARGEST_CELL = 56
_LEGEND_CELLS, _LEGEND_CELL = 11, 24
_THUMBNAILS_WIDTH, _THUMBNAILS_HEIGHT = 128, 96
_LARGEST_THUMBNAIL_CELL = 15
_CELL_PADDING = 3
_SMALLEST_WITH_LINES = 8
_BODY, _BOLD = Font.BODY.line_height, Font.BODY_BOLD.line_height
_SMALL, _TITLE = Font.SMALL.line_height, Font.TITLE.line_height
_LEGEND_PITCH = 2 * _BODY + _LEGEND_CELL + 3 * SPACE

_HEADS = (
    ("column i of A,", "stretched across"),
    ("row i of B,", "stretched down"),
    ("their product:", "this pass"),
    ("framebuffer:", "the sum so far"),
)
_PANELS = ("A", "B", "product", "framebuffer")
"""The names of a line's panels in the legend, where A and B stand for their replicas."""
_PANELS_MS = (800, 800, 800, 1400)
"""How long an animation waits after each panel, in milliseconds."""


class _Page:
    """A picture of a demonstration, with panels as large as their texts require.

    marked: the only pass to show, with its column of A and row of B framed; if None, each pass has
    a small picture of both beside it. panels: how many panels of a pass are drawn already.
    """

    def __init__(
        self, shown: PassByPass, marked: int | None = None, panels: int = len(_PANELS)
    ) -> None:
        self.shown, self.marked, self.panels = shown, marked, panels
        self.operands = {"A": shown.a, "B": shown.b}
        self.scales = scales_of(shown)
        self.scale = {name: scale for scale in self.scales for name in scale.names}
        (m, l), n = shown.a.shape, shown.b.shape[1]  # noqa: E741
        most, rows = max(m, l, n), max(m, l)
        arrays = [shown.a, shown.b, *(a for f in shown.frames for a in fields_of(f).values())]
        texts = {_number(value) for array in arrays for value in array.ravel().tolist()}
        smallest = max(_SMALL, *map(Font.SMALL.width, texts)) + 2 * _CELL_PADDING
        self.cell = max(smallest, min(_LARGEST_CELL, _SMALLEST_PANEL // most))
        self.panel = max(_SMALLEST_PANEL, _span(most, self.cell))
        first = MARGIN + _LABELS + self.panel // 2
        self.centres = [first + place * (self.panel + _GAP) for place in range(len(_HEADS))]
        self.small_cell = min(
            _LARGEST_THUMBNAIL_CELL, _THUMBNAILS_WIDTH // (l + n), _THUMBNAILS_HEIGHT // rows
        )
        self.label_height = 2 * _BODY + SPACE // 2 + _span(rows, self.small_cell)
        self.rectangle = _span(n, self.cell), _span(m, self.cell)
        self.line_height = max(self.rectangle[1] + 2 * (_SMALL + 3), self.label_height)
        self.legend_height = len(self.scales) * _LEGEND_PITCH - SPACE
        self.operands_height = max(_span(rows, self.cell), self.legend_height)

    def drawn(self) -> Image.Image:
        """The whole picture: title, operands, passes and caption."""
        count = len(self.shown.frames)
        numbers = range(count) if self.marked is None else [self.marked]
        width = self.centres[-1] + self.panel - self.panel // 2 + MARGIN
        caption = fill(self.caption().split(), width - 2 * MARGIN, Font.BODY.width)
        subtitle = MARGIN + _TITLE
        operands = subtitle + _BODY + 2 * SPACE + _BOLD + SPACE // 2
        heads = operands + self.operands_height + 3 * SPACE
        passes, pitch = heads + 2 * _BOLD + SPACE, self.line_height + 2 * SPACE
        foot = passes + len(numbers) * pitch
        image = Image.new("RGB", (width, foot + SPACE + len(caption) * _BODY + MARGIN), PAPER)
        self.draw = Draw(image)
        self.write(MARGIN, MARGIN, "Larson-McAllister matrix multiplication", Font.TITLE, fill=INK)
        said = f"C = A × B, {self.shown.sizes}, in {count} pass{'es' * (count > 1)}"
        self.write(MARGIN, subtitle, said)
        self.draw_operands(operands + self.operands_height // 2)
        for centre, head in zip(self.centres, _HEADS, strict=True):
            for place, text in enumerate(head):
                self.centre(centre, heads + place * _BOLD, text, Font.BODY_BOLD)
        for place, number in enumerate(numbers):
            self.draw_pass(passes + place * pitch + self.line_height // 2, number)
        for place, text in enumerate(caption):
            self.write(MARGIN, foot + SPACE + place * _BODY, text)
        for y in (heads - 3 * SPACE // 2, foot - SPACE // 2):
            self.draw.line((MARGIN, y, width - MARGIN, y), fill=RULE)
        return image

    def write(
        self,
        x: int,
        y: int,
        text: str,
        font: Font = Font.BODY,
        align: Align = Align.LEFT,
        *,
        fill: Colour = SOFT_INK,
    ) -> None:
        """Write a line of text below y."""
        draw_line(self.draw, x, y, text, font, align=align, fill=fill)

    def centre(self, x: int, y: int, text: str, font: Font = Font.BODY) -> None:
        """Write a line of text below y, centred on x."""
        self.write(x, y, text, font, Align.CENTRE, fill=INK)

    def draw_operands(self, middle: int) -> None:
        """Draw A and B, and beside them the grey levels of each scale."""
        for place, (name, values) in enumerate(self.operands.items()):
            centre, framed = self.centres[place], self.marked if place < self.panels else None
            upper = self.draw_panel(centre, middle, name, values, framed=framed)
            self.centre(centre, upper - _BOLD - SPACE // 2, name, Font.BODY_BOLD)
        length = _span(_LEGEND_CELLS, _LEGEND_CELL)
        centre = self.centres[2] - self.panel // 2 + length // 2
        top = middle - self.legend_height // 2
        for scale in self.scales:
            title = "value of a texel" if scale.names == _PANELS else " and ".join(scale.names)
            self.centre(centre, top, title)
            across = top + _BODY + SPACE // 2 + _LEGEND_CELL // 2
            levels = np.linspace(scale.black, scale.white, _LEGEND_CELLS)[None]
            self.draw_panel(centre, across, scale.names[0], levels, _LEGEND_CELL)
            for tick in (0, 0.5, 1):
                x = centre - length // 2 + _LEGEND_CELL // 2 + round(tick * (length - _LEGEND_CELL))
                label = f"{scale.black + tick * (scale.white - scale.black):.3g}"
                self.centre(x, across + _LEGEND_CELL // 2 + SPACE // 2, label)
            top += _LEGEND_PITCH

    def draw_pass(self, middle: int, number: int) -> None:
        """Draw one line of panels, centred on the y `middle`, with its label.

        Until its last panel is drawn, the framebuffer is as before the pass.
        """
        thumbnails = self.operands if self.marked is None else {}
        top = middle - (self.label_height // 2 if thumbnails else _BODY)
        label = f"pass {number + 1} of {len(self.shown.frames)}"
        self.write(MARGIN, top, label, Font.BODY_BOLD, fill=INK)
        self.write(MARGIN, top + _BODY, f"i = {number + 1}")
        x, y = MARGIN, top + 2 * _BODY + SPACE // 2
        for name, values in thumbnails.items():
            height, width = (_span(count, self.small_cell) for count in values.shape)
            at = (x + width // 2, y + height // 2)
            self.draw_panel(*at, name, values, self.small_cell, framed=number)
            x += width + SPACE
        *drawn, after = fields_of(self.shown.frames[number]).values()
        if self.panels <= len(drawn):
            after = self.shown.frames[number - 1].framebuffer if number else np.zeros_like(after)
        for centre, name, values in zip(self.centres, _PANELS, drawn[: self.panels], strict=False):
            self.draw_panel(centre, middle, name, values)
        self.draw_panel(self.centres[-1], middle, _PANELS[-1], after)
        centres = self.centres[: self.panels]
        for (left, right), operator in zip(pairwise(centres), "×=→", strict=False):
            self.centre((left + right) // 2, middle - _TITLE // 2, operator, Font.TITLE)
        for centre, corners in zip(centres, self.shown.corners[number], strict=False):
            self.draw_corners(centre, middle, corners)

    def draw_corners(self, centre: int, middle: int, corners: F32) -> None:
        """Write the texture coordinates at the corners of a rectangle: those of row 0 above it."""
        width, height = self.rectangle
        upper = middle - height // 2
        for (s, t), right, below in zip(corners, (0, 1, 1, 0), (0, 0, 1, 1), strict=True):
            text = f"({s:g}, {t:g})"
            away = max(width // 2, Font.SMALL.width(text) + SPACE // 2)
            x, align = (centre + away, Align.RIGHT) if right else (centre - away, Align.LEFT)
            self.write(x, upper + (height + 1 if below else -_SMALL - 3), text, Font.SMALL, align)

    def draw_panel(
        self, centre: int, middle: int, name: str, values: NDArray[np.floating], small: int = 0,
        *, framed: int | None = None,
    ) -> int:  # fmt: skip
        """Draw a matrix as grey cells in a grid, around a point; return its upper edge.

        name: of the panel whose scale it has. small: the size of cells without texts; 0 for cells
        with their values. framed: the column of A, or the row of B, to frame.
        """
        cell, (rows, columns) = small or self.cell, values.shape
        left, upper = centre - _span(columns, cell) // 2, middle - _span(rows, cell) // 2
        self.draw.rectangle((left, upper, left + columns * cell, upper + rows * cell), fill=_GRID)
        inside = cell - (cell >= _SMALLEST_WITH_LINES)
        for (i, j), value in np.ndenumerate(values.astype(float)):
            x, y = left + j * cell, upper + i * cell
            level = self.scale[name].level(value)
            shade = _NAN if level is None else (level, level, level)
            self.draw.rectangle((x + 1, y + 1, x + inside, y + inside), fill=shade)
            if not small:
                ink = _ON_LIGHT if (level or 0) > _MIDDLE_LEVEL else _ON_DARK
                at = (x + cell // 2 + 1, y + (cell - _SMALL) // 2)
                self.write(*at, _number(value), Font.SMALL, Align.CENTRE, fill=ink)
        if framed is not None:
            i, j, down, right = (0, framed, rows, 1) if name == "A" else (framed, 0, 1, columns)
            x, y = left + j * cell, upper + i * cell
            edges = (x - 1, y - 1, x + right * cell + 1, y + down * cell + 1)
            self.draw.rectangle(edges, outline=MARK, width=2 if small else 3)
        return upper

    def caption(self) -> str:
        """The caption: how to read the figure, and what it was made from."""
        white, parameters = self.scale["framebuffer"].white, self.shown.parameters
        program = "A program, in 2001 the state of two texture environments,"
        is_program = parameters["state"] == "program"
        modulates = program if is_program else "The state of two texture environments"
        sentences = {
            "Pass i draws one rectangle as large as the product. The texture coordinates at its "
            "corners stretch column i of A across it and row i of B down it. "
            f"{modulates} multiplies the two, and the framebuffer adds what is drawn to what it "
            "holds.": True,
            "Below a pass's number are A and B, with that column and that row framed.": (
                self.marked is None
            ),
            "In the paper's picture, results greater than one appear uniformly white; here the "
            f"greys of products and framebuffers end at {white:.3g}, so that they differ.": (
                white > 1
            ),
            "Textures and framebuffer hold 8 bits, from 0 to 1, so sums end at 1.": (
                parameters["texture_format"] == UNORM8.name
            ),
            "Made from what Hall, Carr & Hart 2003 write of their Figure 2, and its caption: the "
            "picture itself was not at hand, and the matrices are not the paper's.": True,
        }
        return " ".join(sentence for sentence, holds in sentences.items() if holds)


def _span(count: int, cell: int) -> int:
    """The length of a row of cells, in pixels, with a line on either side of each."""
    return count * cell + 1


# Scales -----------------------------------------------------------------------------------------

_LEAST_FILLED = 0.25


@frozen
class Scale:
    """The greys of the panels with these names. black, white: the values at the ends."""

    names: tuple[str, ...]
    black: float
    white: float

    def level(self, value: float) -> int | None:
        """The grey, from 0 to 255; None for NaN, which has none."""
        share = (value - self.black) / (self.white - self.black)
        return None if isnan(share) else round(255 * min(max(share, 0.0), 1.0))


def scales_of(shown: PassByPass) -> list[Scale]:
    """The scales of a demonstration: panels that can share one do."""
    columns, rows, *results = zip(*(fields_of(f).values() for f in shown.frames), strict=True)
    groups = {("A",): (shown.a, *columns), ("B",): (shown.b, *rows), _PANELS[2:]: sum(results, ())}
    shared: dict[tuple[float, float], tuple[str, ...]] = {}
    for names, panels in groups.items():
        values = np.concatenate([panel.ravel() for panel in panels], dtype=np.float64)
        finite = values[np.isfinite(values)]
        low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
        ends = low, 1.0 if low == high or _LEAST_FILLED <= high <= 1 else high
        shared[ends] = (*shared.get(ends, ()), *names)
    return [Scale(names, *ends) for ends, names in shared.items()]


def _number(value: float) -> str:
    """A value as it is written in its cell."""
    return f"{value * (1 + 2**-30):.3g}"  # a value halfway between two is rounded away from 0


# The command --------------------------------------------------------------------------------------


@answers("study figure-2", plot="Draw the passes; a .gif shows one at a time.", picture=FILM)
def figure_2_command(product: ShownProduct) -> PassByPass:
    """Draw Figure 2 of Hall, Carr & Hart 2003 from a run: larson-mcallister, pass by pass.

    It follows the paper's description, not its picture. Matrices have up to 16 rows and
    columns.
    """
    return product.given_to(demonstrate, METHOD.name)
