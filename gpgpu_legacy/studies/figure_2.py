"""Figure 2 of Hall, Carr & Hart 2003 from a run: a Larson-McAllister product, pass by pass.

The picture itself was not at hand. Its caption speaks of the Larson-McAllister product of "a pair
of 4×4 matrices", with an output that is "saturated, such that results greater than one appear
uniformly white"; the text describes the operands of a pass. The layout is ours: a line for each
pass, with the column of A and the row of B that it replicates over a rectangle, their product, and
the framebuffer that adds the products up. Every array was read back from an executor; nothing is
computed here. Matrices are drawn with row 0 at the top, and each texel has its value in it.

A scale of greys begins at 0, or at the least value if that is negative. It ends at 1 if the values
fill a quarter of that or more without exceeding it, and else at the greatest value. A, B, and the
results (products and framebuffers) have scales of their own where these differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from PIL.ImageDraw import Draw, ImageDraw

from gpgpu_legacy.algorithms.matmul.larson_mcallister import (
    DEMONSTRATION_A,
    DEMONSTRATION_B,
    larson_mcallister,
)
from gpgpu_legacy.algorithms.parameters import Plain
from gpgpu_legacy.api.command.frame import answers
from gpgpu_legacy.api.command.options import FILM
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
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line, wrap
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.serial import Record, fields_of
from gpgpu_legacy.studies.shared.operands import EXACT, ShownProduct, matrices_for

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


class PassByPass(Result):
    """A Larson-McAllister product, pass by pass.

    a, b: m×l and l×n float32. frames: one for each pass. corners: of each pass's rectangle, the
    texture coordinates s and t for A, then for B: counterclockwise, from that of texel (0, 0).
    """

    a: F32
    b: F32
    parameters: Mapping[str, Plain]
    frames: tuple[Frame, ...]
    corners: F32

    @property
    def sizes(self) -> str:
        """Those of the operands."""
        return "{}×{} times {}×{}".format(*self.a.shape, *self.b.shape)

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
        drawing, passes = _Page(self), range(len(self.frames))
        panels = range(1, len(_PANELS) + 1)
        even = np.uint8(254)
        drawn = [np.asarray(drawing.drawn(i, k), np.uint8) & even for i in passes for k in panels]
        return film_of(drawn, [*(_PANELS_MS * len(passes))[:-1], 3000])


def _text(values: F32) -> str:
    """Numbers in rows."""
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
    InputError for other sizes, and for parameters other than these, the textures' format, and the
    state.
    """
    p = p or METHOD.builder(n=len(DEMONSTRATION_A))
    own, plan = {"A": DEMONSTRATION_A, "B": DEMONSTRATION_B}, p.plan()
    drawn = [pass_ for pass_ in passes(plan) if isinstance(pass_, FragmentPass)]
    free = ("texture_format", "state")
    operands = matrices_for(p, LARGEST, given, own, seed=seed, free=free)
    sums: list[F32] = []

    def observe(_: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        if isinstance(pass_, FragmentPass):
            sums.append(np.array(read(pass_.target)[..., 0]))

    executor.run(plan, operands, EXACT, observe)

    def alone(pass_: FragmentPass, program: Program) -> F32:
        """The result of the pass with another program, on an empty framebuffer."""
        alone = replace(plan, steps=(replace(pass_, program=program, blend=None),))
        executor.run(alone, operands, EXACT, observe)
        return sums.pop()

    column, row = map(_lookup, range(2))
    frames = tuple(
        Frame(
            column=alone(pass_, column),
            row=alone(pass_, row),
            product=alone(pass_, pass_.program),
            framebuffer=framebuffer,
        )
        for pass_, framebuffer in zip(drawn, tuple(sums), strict=True)
    )
    corners = np.array([[t.corners for t in pass_.texcoords] for pass_ in drawn], np.float32)
    return PassByPass(
        parameters=p.parameters,
        a=operands["A"],
        b=operands["B"],
        frames=frames,
        corners=corners[..., :2],
    )


def _lookup(unit: int) -> Program:
    """A program that shows one texture, looked up where the pass looks it up."""
    lookup = f"TEX result.color, fragment.texcoord[{unit}], texture[{unit}], RECT;"
    return assemble(f"!!ARBfp1.0\n{lookup}\nEND\n", f"lookup of unit {unit}")


# The picture --------------------------------------------------------------------------------------

Values = NDArray[np.floating]

# Only the accents have a hue. They stand out against every grey level.
PAPER: Colour = (246, 246, 246)
INK: Colour = (28, 28, 28)
SOFT_INK: Colour = (92, 92, 92)
RULE: Colour = (205, 205, 205)
MARK: Colour = (226, 92, 12)
_GRID: Colour = (92, 118, 152)
_NAN: Colour = (204, 52, 64)
_ON_LIGHT: Colour = (0, 0, 0)
_ON_DARK: Colour = (255, 255, 255)
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
_LEGEND_PITCH = 2 * _BODY + _LEGEND_CELL + 3 * SPACE
_NAME_HEIGHT = _BOLD + SPACE // 2
_CORNER_HEIGHT = Font.SMALL.line_height + 3

_HEADS = (
    ("column i of A,", "stretched across"),
    ("row i of B,", "stretched down"),
    ("their product:", "this pass"),
    ("framebuffer:", "the sum so far"),
)
_PANELS = ("A", "B", "product", "framebuffer")
"""The names of a line's panels in the legend, with those of A and B."""
_PANELS_MS = (800, 800, 800, 1400)
"""How long an animation waits after it has drawn each."""


class _Page:
    """The figure of one demonstration; how large its panels are follows from the texts in them."""

    def __init__(self, shown: PassByPass) -> None:
        self.shown = shown
        self.operands = {"A": shown.a, "B": shown.b}
        self.scales = scales_of(shown)
        self.scale = {name: scale for scale in self.scales for name in scale.names}
        (m, l), n = shown.a.shape, shown.b.shape[1]  # noqa: E741
        most, rows = max(m, l, n), max(m, l)
        arrays = [shown.a, shown.b, *(a for f in shown.frames for a in fields_of(f).values())]
        texts = {_number(value) for array in arrays for value in array.ravel().tolist()}
        smallest = max(Font.SMALL.line_height, *map(Font.SMALL.width, texts)) + 2 * _CELL_PADDING
        self.cell = max(smallest, min(_LARGEST_CELL, _SMALLEST_PANEL // most))
        self.panel = max(_SMALLEST_PANEL, _span(most, self.cell))
        first = MARGIN + _LABELS + self.panel // 2
        self.centres = [first + place * (self.panel + _GAP) for place in range(len(_HEADS))]
        self.small_cell = min(
            _LARGEST_THUMBNAIL_CELL, _THUMBNAILS_WIDTH // (l + n), _THUMBNAILS_HEIGHT // rows
        )
        self.label_height = 2 * _BODY + SPACE // 2 + _span(rows, self.small_cell)
        self.rectangle = _span(n, self.cell), _span(m, self.cell)
        self.line_height = max(self.rectangle[1] + 2 * _CORNER_HEIGHT, self.label_height)
        self.legend_height = len(self.scales) * _LEGEND_PITCH - SPACE
        self.operands_height = max(_span(rows, self.cell), self.legend_height)

    def drawn(self, marked: int | None = None, panels: int = len(_PANELS)) -> Image.Image:
        """Title, operands, passes, caption.

        marked: the only pass to show, with its column of A and row of B framed; if None, each pass
        has a small picture of both beside it. panels: how many of a pass are drawn already.
        """
        count = len(self.shown.frames)
        numbers = range(count) if marked is None else [marked]
        width = self.centres[-1] + self.panel - self.panel // 2 + MARGIN
        caption = wrap(self.caption(thumbnails=marked is None), Font.BODY, width - 2 * MARGIN)
        subtitle = MARGIN + Font.TITLE.line_height
        operands = subtitle + _BODY + 2 * SPACE + _NAME_HEIGHT
        heads = operands + self.operands_height + 3 * SPACE
        passes, pitch = heads + 2 * _BOLD + SPACE, self.line_height + 2 * SPACE
        foot = passes + len(numbers) * pitch
        image = Image.new("RGB", (width, foot + SPACE + len(caption) * _BODY + MARGIN), PAPER)
        draw = Draw(image)
        title = "Larson-McAllister matrix multiplication"
        draw_line(draw, MARGIN, MARGIN, title, Font.TITLE, fill=INK)
        said = f"C = A × B, {self.shown.sizes}, in {count} pass{'es' * (count > 1)}"
        draw_line(draw, MARGIN, subtitle, said, fill=SOFT_INK)
        self.draw_operands(draw, operands + self.operands_height // 2, marked, panels)
        for centre, head in zip(self.centres, _HEADS, strict=True):
            for place, text in enumerate(head):
                _centred(draw, centre, heads + place * _BOLD, text, Font.BODY_BOLD)
        for place, number in enumerate(numbers):
            middle = passes + place * pitch + self.line_height // 2
            self.draw_pass(draw, middle, number, panels, thumbnails=marked is None)
        for place, text in enumerate(caption):
            draw_line(draw, MARGIN, foot + SPACE + place * _BODY, text, fill=SOFT_INK)
        for y in (heads - 3 * SPACE // 2, foot - SPACE // 2):
            draw.line((MARGIN, y, width - MARGIN, y), fill=RULE)
        return image

    def draw_operands(self, draw: ImageDraw, middle: int, marked: int | None, panels: int) -> None:
        """A and B, and beside them the grey levels of each scale."""
        for place, (name, values) in enumerate(self.operands.items()):
            centre, framed = self.centres[place], marked if place < panels else None
            upper = self.draw_panel(draw, centre, middle, name, values, framed=framed)
            _centred(draw, centre, upper - _NAME_HEIGHT, name, Font.BODY_BOLD)
        length = _span(_LEGEND_CELLS, _LEGEND_CELL)
        left = self.centres[2] - self.panel // 2
        top = middle - self.legend_height // 2
        for scale in self.scales:
            title = "value of a texel" if scale.names == _PANELS else " and ".join(scale.names)
            _centred(draw, left + length // 2, top, title)
            across = top + _BODY + SPACE // 2 + _LEGEND_CELL // 2
            levels = np.linspace(scale.black, scale.white, _LEGEND_CELLS)[None]
            at = (left + length // 2, across)
            self.draw_panel(draw, *at, scale.names[0], levels, cell=_LEGEND_CELL)
            for tick in (0, 0.5, 1):
                x = left + _LEGEND_CELL // 2 + round(tick * (length - _LEGEND_CELL))
                label = f"{scale.black + tick * (scale.white - scale.black):.3g}"
                _centred(draw, x, across + _LEGEND_CELL // 2 + SPACE // 2, label)
            top += _LEGEND_PITCH

    def draw_pass(
        self, draw: ImageDraw, middle: int, number: int, panels: int, *, thumbnails: bool
    ) -> None:
        """One line of panels, centred on the y `middle`, with its label.

        panels: how many are drawn; without the last, the framebuffer is as before the pass.
        thumbnails: with A and B, the pass's column and row framed.
        """
        top = middle - (self.label_height // 2 if thumbnails else _BODY)
        label = f"pass {number + 1} of {len(self.shown.frames)}"
        draw_line(draw, MARGIN, top, label, Font.BODY_BOLD, fill=INK)
        draw_line(draw, MARGIN, top + _BODY, f"i = {number + 1}", fill=SOFT_INK)
        x, y = MARGIN, top + 2 * _BODY + SPACE // 2
        for name, values in self.operands.items() if thumbnails else ():
            height, width = (_span(count, self.small_cell) for count in values.shape)
            at = (x + width // 2, y + height // 2)
            self.draw_panel(draw, *at, name, values, cell=self.small_cell, framed=number)
            x += width + SPACE
        *drawn, after = fields_of(self.shown.frames[number]).values()
        before = self.shown.frames[number - 1].framebuffer if number else np.zeros_like(after)
        for centre, name, values in zip(self.centres, _PANELS, drawn[:panels], strict=False):
            self.draw_panel(draw, centre, middle, name, values)
        framebuffer = after if panels > len(drawn) else before
        self.draw_panel(draw, self.centres[-1], middle, _PANELS[-1], framebuffer)
        for (left, right), operator in zip(pairwise(self.centres[:panels]), "×=→", strict=False):
            y = middle - Font.TITLE.line_height // 2
            _centred(draw, (left + right) // 2, y, operator, Font.TITLE)
        for centre, corners in zip(self.centres, self.shown.corners[number][:panels], strict=False):
            self.draw_corners(draw, centre, middle, corners)

    def draw_corners(self, draw: ImageDraw, centre: int, middle: int, corners: F32) -> None:
        """The texture coordinates at the corners of a rectangle: those of row 0 above it."""
        width, height = self.rectangle
        upper = middle - height // 2
        heights = upper - _CORNER_HEIGHT, upper + height + 1
        for (s, t), right, below in zip(corners, (0, 1, 1, 0), (0, 0, 1, 1), strict=True):
            text = f"({s:g}, {t:g})"
            away = max(width // 2, Font.SMALL.width(text) + SPACE // 2)
            x, align = (centre + away, Align.RIGHT) if right else (centre - away, Align.LEFT)
            draw_line(draw, x, heights[below], text, Font.SMALL, align=align, fill=SOFT_INK)

    def draw_panel(
        self,
        draw: ImageDraw,
        centre: int,
        middle: int,
        name: str,
        values: Values,
        *,
        cell: int = 0,
        framed: int | None = None,
    ) -> int:
        """A matrix as grey cells in a grid, around a point; returns its upper edge.

        name: whose scale it has. cell: the size of cells without texts; else values stand in them.
        framed: the column of A, or the row of B, to frame.
        """
        scale, is_small, cell = self.scale[name], bool(cell), cell or self.cell
        rows, columns = values.shape
        width, height = _span(columns, cell), _span(rows, cell)
        left, upper = centre - width // 2, middle - height // 2
        draw.rectangle((left, upper, left + width - 1, upper + height - 1), fill=_GRID)
        line = 1 if cell >= _SMALLEST_WITH_LINES else 0
        for (i, j), value in np.ndenumerate(values):
            x, y = left + j * cell, upper + i * cell
            level = scale.level(float(value))
            shade = _NAN if level is None else (level, level, level)
            draw.rectangle((x + 1, y + 1, x + cell - line, y + cell - line), fill=shade)
            if not is_small:
                at = (x + cell // 2 + 1, y + (cell - Font.SMALL.line_height) // 2)
                ink = _ON_LIGHT if (level or 0) > _MIDDLE_LEVEL else _ON_DARK
                text = _number(float(value))
                draw_line(draw, *at, text, Font.SMALL, align=Align.CENTRE, fill=ink)
        if framed is not None:
            i, j, down, right = (0, framed, rows, 1) if name == "A" else (framed, 0, 1, columns)
            x, y = left + j * cell, upper + i * cell
            edges = (x - 1, y - 1, x + right * cell + 1, y + down * cell + 1)
            draw.rectangle(edges, outline=MARK, width=2 if is_small else 3)
        return upper

    def caption(self, *, thumbnails: bool) -> str:
        """The contents of the figure. thumbnails: whether A and B are beside the passes."""
        white = self.scale["framebuffer"].white
        is_fixed = self.shown.parameters["texture_format"] == UNORM8.name
        program = "A program, in 2001 the state of two texture environments,"
        is_program = self.shown.parameters["state"] == "program"
        modulates = program if is_program else "The state of two texture environments"
        sentences = {
            "Pass i draws one rectangle as large as the product. The texture coordinates at its "
            "corners stretch column i of A across it and row i of B down it. "
            f"{modulates} multiplies the two, and the framebuffer adds what is drawn to what it "
            "holds.": True,
            "Below a pass's number are A and B, with that column and that row framed.": thumbnails,
            "In the paper's picture, results greater than one appear uniformly white; here the "
            f"greys of products and framebuffers end at {white:.3g}, so that they differ.": (
                white > 1
            ),
            "Textures and framebuffer hold 8 bits, from 0 to 1, so sums end at 1.": is_fixed,
            "Made from what Hall, Carr & Hart 2003 write of their Figure 2, and its caption: the "
            "picture itself was not at hand, and the matrices are not the paper's.": True,
        }
        return " ".join(sentence for sentence, holds in sentences.items() if holds)


def _centred(draw: ImageDraw, x: int, y: int, text: str, font: Font = Font.BODY) -> None:
    """A line of text around x, below y."""
    draw_line(draw, x, y, text, font, align=Align.CENTRE, fill=INK)


def _span(count: int, cell: int) -> int:
    """The length of a row of cells, in pixels, with a line on either side of each."""
    return count * cell + 1


# Scales -----------------------------------------------------------------------------------------

_LEAST_FILLED = 0.25


@dataclass(frozen=True)
class Scale:
    """The greys of some panels, by name. black, white: the values at the ends."""

    names: tuple[str, ...]
    black: float
    white: float

    def level(self, value: float) -> int | None:
        """The grey, from 0 to 255; None for NaN, which has none."""
        if np.isnan(value):
            return None
        share = (value - self.black) / (self.white - self.black)
        return round(255 * min(max(share, 0.0), 1.0))


def scales_of(shown: PassByPass) -> tuple[Scale, ...]:
    """The scales of a demonstration: panels that can share one do."""
    columns, rows, *results = zip(*(fields_of(f).values() for f in shown.frames), strict=True)
    groups = {("A",): (shown.a, *columns), ("B",): (shown.b, *rows), _PANELS[2:]: sum(results, ())}
    shared: dict[tuple[float, float], tuple[str, ...]] = {}
    for names, panels in groups.items():
        ends = _ends(np.concatenate([panel.ravel() for panel in panels]))
        shared[ends] = (*shared.get(ends, ()), *names)
    return tuple(Scale(names, *ends) for ends, names in shared.items())


def _ends(values: Values) -> tuple[float, float]:
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    span = max(high, -low)
    white = 1.0 if span == 0 or (_LEAST_FILLED <= high <= 1) else float(high)
    return float(low), white


def _number(value: float) -> str:
    """A value as it is written in its cell."""
    return f"{value * (1 + 2**-30):.3g}"  # what lies between two is rounded away from 0


# The command --------------------------------------------------------------------------------------


@answers("study figure-2", plot="Draw the passes; a .gif shows one at a time.", picture=FILM)
def figure_2_command(product: ShownProduct) -> PassByPass:
    """Draw Figure 2 of Hall, Carr & Hart 2003 from a run: larson-mcallister, pass by pass.

    It follows the paper's description, not its picture. Matrices have up to 16 rows and
    columns.
    """
    return product.given_to(demonstrate, METHOD.name)
