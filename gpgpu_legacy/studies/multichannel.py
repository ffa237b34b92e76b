"""A multichannel product at work: Hall, Carr & Hart 2003, equations (8) to (11).

A texel holds one element of each quadrant of a matrix, in r, g, b and a. The picture follows one
fragment of hall-carr-hart-multi through its program: the two texels that a step looks up, as its
two multiply-adds swizzle them, the products, and the sum. The numbers are those of a trace.

The matrices are called X, Y and Z as in the equations, whose letters A to H are their quadrants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image
from PIL.ImageDraw import ImageDraw

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.steps import (
    TracedInstruction,
    Value,
    as_value,
    trace_fragment,
)
from gpgpu_legacy.files import Write
from gpgpu_legacy.isa.arithmetic import F32, FP32
from gpgpu_legacy.isa.ir import COMPONENTS
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import FragmentPass, read_by
from gpgpu_legacy.present.animation import animation_of
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.observed import initial_storage
from gpgpu_legacy.studies.pages import (
    EXACT,
    INK,
    MARGIN,
    MARK,
    RULE,
    SPACE,
    Pictured,
    draw_centred,
    draw_operators,
    draw_rule,
    matrices_for,
    page,
)

METHOD = find_product("hall-carr-hart-multi")

LARGEST = 8
"""Rows and columns of the largest matrices to draw: numbers of larger ones do not fit."""

# Small integers, so that a reader can follow every product: digits of e, pi, the golden section,
# and the roots of 2, 5, 3 and 7.
DEMONSTRATION_X = ((2, 7, 1, 8), (3, 1, 4, 1), (5, 9, 2, 6), (1, 6, 1, 8))

DEMONSTRATION_Y = ((1, 4, 1, 4), (2, 2, 3, 6), (1, 7, 3, 2), (2, 6, 4, 5))

CHANNELS = "rgba"


class MultiplyAdd(NamedTuple):
    """A multiply-add of the program with the lookups of its factors, as a trace has them."""

    x: TracedInstruction
    y: TracedInstruction
    step: TracedInstruction

    @property
    def product(self) -> Value:
        """The product of the swizzled texels, in float32."""
        x, y = (np.array(operand.value, np.float32) for operand in self.step.operands[:2])
        return as_value(x * y)

    @property
    def total(self) -> Value:
        """The sum so far."""
        return as_value(self.step.result or ())

    @property
    def channels(self) -> tuple[str, ...]:
        """The swizzles of X and of Y, in r, g, b and a."""
        letters = str.maketrans(COMPONENTS, CHANNELS)
        texts = (operand.text.partition(".")[2] for operand in self.step.operands[:2])
        return tuple(text.translate(letters) for text in texts)


class Multichannel(Pictured):
    """A multichannel product in one pass, fragment by fragment, row by row.

    a, b: X and Y. z: the product, float32. halves: rows and columns of a quadrant, padding
    included, of each of the three.
    """

    z: F32
    halves: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    fragments: tuple[tuple[TracedInstruction, ...], ...]

    def place(self, number: int) -> tuple[int, int]:
        """The row and column of a fragment by its number."""
        return divmod(number, self.halves[2][1])

    def multiply_adds(self, number: int) -> list[MultiplyAdd]:
        """The instructions of a fragment that add to a product of two looked-up texels."""
        adds, read = list[MultiplyAdd](), dict[str, TracedInstruction]()
        for step in self.fragments[number]:
            factors = [read.get(o.text.partition(".")[0]) for o in step.operands[:-1]]
            match factors:
                case [TracedInstruction() as x, TracedInstruction() as y]:
                    adds.append(MultiplyAdd(x, y, step))
            if step.texel is not None:
                read[step.destination or ""] = step
        return adds

    @property
    def typical(self) -> int:
        """The number of a fragment whose row and column differ, if there is one."""
        return min(1, self.halves[2][1] - 1)

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The multiply-adds of the typical fragment."""
        heads = ("X looked up", "Y looked up", "X swizzled", "Y swizzled", "product", "sum")
        rows = []
        for add in self.multiply_adds(self.typical):
            looked_up = (f"{_name(one)}: {_text(one.sampled or ())}" for one in add[:2])
            operands = zip(add.channels, add.step.operands, strict=False)
            swizzled = (f".{text}: {_text(operand.value)}" for text, operand in operands)
            rows.append((*looked_up, *swizzled, _text(add.product), _text(add.total)))
        where = self.place(self.typical)
        caption = f"{METHOD.name}, {self.sizes}: the multiply-adds of fragment {where}."
        return [Grid("multichannel", caption, heads, tuple(rows))]

    def picture(self, number: int | None = None) -> Image.Image:
        """The work of a fragment; by default of a typical one."""
        return _drawn(self, self.typical if number is None else number)

    def animation(self) -> Write:
        """The work of all fragments, for three seconds each."""
        numbers = range(len(self.fragments))
        return animation_of([*map(self.picture, numbers)], [3000] * len(numbers))


def _name(lookup: TracedInstruction) -> str:
    """The texel as the equations name it, such as X(1, 0)."""
    assert lookup.texel is not None
    return f"{'XY'[lookup.texel.unit or 0]}({lookup.texel.y}, {lookup.texel.x})"


def _text(texel: Sequence[float]) -> str:
    return " ".join(f"{value:.4g}" for value in texel)


def demonstrate(
    executor: Executor,
    p: PlanBuilder | None = None,
    given: Mapping[str, ArrayLike] | None = None,
    seed: int | None = None,
) -> Multichannel:
    """Run hall-carr-hart-multi on an executor, and trace all of its fragments.

    p: the builder of the product, of 1 to 8 rows and columns; by default 4×4. One pass computes the
    whole sum, whatever its block. given: A and B. Without them they are random integers from 0 to
    9, or the picture's own where these fit and there is no seed. Raises InputError for other sizes,
    and for parameters other than the sizes.
    """
    p = p or METHOD.builder(n=len(DEMONSTRATION_X))
    own = {"A": DEMONSTRATION_X, "B": DEMONSTRATION_Y}
    digits = dict.fromkeys(own, _digits)
    operands = matrices_for(p, LARGEST, given, own=own, samples=digits, seed=seed)
    sizes = {name: p.parameters[name] for name in ("m", "l", "n")}
    plan = METHOD.plan(**sizes, block=-(-len(operands["B"]) // 2))
    extents = [plan.texture(name).extent for name in ("A", "B", "C")]
    x_half, y_half, z_half = ((extent.height, extent.width) for extent in extents)
    pass_ = next(pass_ for pass_ in passes(plan) if isinstance(pass_, FragmentPass))
    textures = {name: initial_storage(plan, operands, name) for name in read_by(pass_)}
    return Multichannel(
        a=operands["A"],
        b=operands["B"],
        z=executor.run(plan, operands, EXACT).outputs["C"],
        halves=(x_half, y_half, z_half),
        fragments=tuple(
            trace_fragment(pass_, textures, (column, row), FP32)[0]
            for row, column in np.ndindex(z_half)
        ),
    )


def _digits(rng: np.random.Generator, shape: tuple[int, ...]) -> F32:
    return rng.integers(0, 10, shape).astype(np.float32)


# The picture --------------------------------------------------------------------------------------

_LINE: Colour = (150, 150, 150)

# Each channel has a light colour for its cells and a dark one for its letter.
_FILLS: dict[str, Colour] = {
    "r": (250, 214, 208),
    "g": (211, 238, 205),
    "b": (208, 224, 250),
    "a": (238, 230, 206),
}
_LETTERS: dict[str, Colour] = {
    "r": (176, 32, 24),
    "g": (28, 112, 36),
    "b": (24, 72, 172),
    "a": (124, 88, 12),
}
# The letters of equation (8), by those of the channels.
_QUADRANTS = {"X": str.maketrans(CHANNELS, "ABCD"), "Y": str.maketrans(CHANNELS, "EFGH")}

# Lengths are in pixels.
_CELL = (82, 42)
_PANEL_WIDTH, _PANEL_HEIGHT = 2 * _CELL[0], 2 * _CELL[1]
_GAP = 44
_PAGE_WIDTH = 2 * MARGIN + 5 * _PANEL_WIDTH + 4 * _GAP
_BOLD_HEIGHT = Font.BODY_BOLD.line_height
_LINE_HEIGHT = _BOLD_HEIGHT + _PANEL_HEIGHT + SPACE
_INSET = 7  # of the text in a cell
_MATRIX_WIDTH = 312
_LARGEST_CELL, _MATRIX_CELL_HEIGHT = 64, 36
_SPLIT = 4  # between quadrants

_HEADS = ("looked up", "X, swizzled", "Y, swizzled", "product", "sum")
_CENTRES = [
    MARGIN + place * (_PANEL_WIDTH + _GAP) + _PANEL_WIDTH // 2 for place in range(len(_HEADS))
]


def _drawn(shown: Multichannel, number: int) -> Image.Image:
    """The picture for a fragment."""
    adds, at = shown.multiply_adds(number), shown.place(number)
    # A step shares its texels.
    steps = [list(step) for _, step in groupby(adds, lambda add: add.x)]

    def draw_steps(draw: ImageDraw, y: int) -> None:
        for step in steps:
            if step is not steps[0]:
                draw_rule(draw, y - SPACE, _PAGE_WIDTH)
            _draw_step(draw, y, step)
            y += len(step) * _LINE_HEIGHT + 2 * SPACE
        # The last sum, which is what the framed elements of Z hold.
        left, bottom = _CENTRES[-1] - _PANEL_WIDTH // 2, y - 3 * SPACE
        place = (left, bottom - _PANEL_HEIGHT, left + _PANEL_WIDTH, bottom)
        draw.rectangle(place, outline=MARK, width=3)

    tallest = max(2 * rows for rows, _ in shown.halves) * _MATRIX_CELL_HEIGHT + _SPLIT
    height = Font.TITLE.line_height + tallest + 2 * _BOLD_HEIGHT + SPACE
    middle = (Font.TITLE.line_height + height) // 2
    count = len(shown.fragments)
    first, second = ("X.{} × Y.{}".format(*add.channels) for add in adds[:2])
    return page(
        _PAGE_WIDTH,
        "Multichannel matrix multiplication",
        (
            f"Z = X × Y, {shown.sizes}, by "
            f"{f'{count} fragments' if count > 1 else 'one fragment'} in one pass.",
            "A texel holds one element of each quadrant: in r, g, b and a, equation (8).",
        ),
        upper=(height, lambda draw, y: _draw_matrices(draw, y, y + middle, shown, number)),
        heads={x: (head,) for x, head in zip(_CENTRES, _HEADS, strict=True)},
        lower=(len(adds) * _LINE_HEIGHT + len(steps) * 2 * SPACE, draw_steps),
        caption=f"The fragment in row {at[0]} and column {at[1]} makes the four elements of Z "
        "that are framed, one in each quadrant, all at once. "
        f"{'Its one step' if len(steps) == 1 else f'Each of its {len(steps)} steps'} looks up one "
        f"texel of X and one of Y and multiplies them twice: {first}, equation (9), and {second}; "
        "their sum is equation (10), and these multiply-adds are listing (11). A cell's colour and "
        "letter name the channel that its number was read from; in a product the letters name the "
        "quadrants. After Hall, Carr & Hart 2003, Section 4.",
    )


def _draw_matrices(draw: ImageDraw, y: int, middle: int, shown: Multichannel, number: int) -> None:
    """Draw Z = X × Y below y, in quadrants, with the texels framed that the fragment uses."""
    texels = [one.texel for add in shown.multiply_adds(number) for one in add[:2] if one.texel]
    pitch = (_PAGE_WIDTH - 2 * MARGIN - _MATRIX_WIDTH) // 2
    centres = [MARGIN + _MATRIX_WIDTH // 2 + place * pitch for place in range(3)]
    matrices = {"X": shown.a, "Y": shown.b, "Z": shown.z}
    for centre, half, (name, values) in zip(centres, shown.halves, matrices.items(), strict=True):
        draw_centred(draw, centre, y, name, Font.TITLE)
        marked = [(texel.y, texel.x) for texel in texels if "XY"[texel.unit or 0] == name]
        marked = marked or [shown.place(number)]
        _draw_matrix(draw, (centre, middle), values, half, name=name, marked=marked)
    draw_operators(draw, centres, middle, "×=")


def _draw_matrix(
    draw: ImageDraw,
    centre: tuple[int, int],
    values: F32,
    half: tuple[int, int],
    *,
    name: str,
    marked: Sequence[tuple[int, int]],
) -> None:
    """A matrix in its four quadrants; the elements of the marked texels are framed.

    half: rows and columns of a quadrant, with the zeros that fill its texture. marked: in one row
    or one column.
    """
    rows, columns = half
    cell = (min(_LARGEST_CELL, (_MATRIX_WIDTH - _SPLIT) // (2 * columns)), _MATRIX_CELL_HEIGHT)
    width, height = columns * cell[0], rows * cell[1]
    left, upper = centre[0] - width - _SPLIT // 2, centre[1] - height - _SPLIT // 2
    titles_at = (upper - _BOLD_HEIGHT - 2, upper + 2 * height + _SPLIT + 2)
    padded = np.pad(values, [(0, 2 * n - size) for n, size in zip(half, values.shape, strict=True)])
    quadrants = padded.reshape(2, rows, 2, columns).swapaxes(1, 2).reshape(4, rows, columns)
    (top, first), (bottom, last) = min(marked), max(marked)
    for place, (letter, quadrant) in enumerate(zip(CHANNELS, quadrants, strict=True)):
        down, right = divmod(place, 2)
        x, y = left + right * (width + _SPLIT), upper + down * (height + _SPLIT)
        for (i, j), value in np.ndenumerate(quadrant):
            corner = (x + j * cell[0], y + i * cell[1])
            _draw_cell(draw, corner, cell, letter, float(value))
        edges = (
            x + first * cell[0],
            y + top * cell[1],
            x + (last + 1) * cell[0],
            y + (bottom + 1) * cell[1],
        )
        draw.rectangle(edges, outline=MARK, width=3)
        letters = _QUADRANTS.get(name)
        title = f"{letter.translate(letters)} in {letter}" if letters else letter
        fill = _LETTERS[letter]
        draw_centred(draw, x + width // 2, titles_at[down], title, Font.BODY_BOLD, fill=fill)


def _draw_step(draw: ImageDraw, y: int, step: Sequence[MultiplyAdd]) -> None:
    """The texels that a step looks up, one above the other, and a line for each multiply-add."""
    for place, lookup in enumerate(step[0][:2]):
        title = f"{lookup.destination} = {_name(lookup)}"
        _draw_vector(draw, 0, y + place * _LINE_HEIGHT, title, lookup.sampled or ())
    middle = MARGIN + _PANEL_WIDTH + _GAP // 2
    draw.line((middle, y, middle, y + len(step) * _LINE_HEIGHT - SPACE), fill=RULE)
    for add in step:
        quadrants = []
        for column, (matrix, lookup, letters) in enumerate(
            zip("XY", add[:2], add.channels, strict=True), start=1
        ):
            operand = add.step.operands[column - 1]
            title = f"{lookup.destination}.{letters}"
            _draw_vector(draw, column, y, title, operand.value, channels=letters, names=letters)
            quadrants.append(letters.translate(_QUADRANTS[matrix]))
        pairs = list(map("".join, zip(*quadrants, strict=True)))
        _draw_vector(draw, 3, y, "", add.product, names=pairs)
        _draw_vector(draw, 4, y, add.step.destination or "", add.total)
        draw_operators(draw, _CENTRES[1:], y + _BOLD_HEIGHT + _PANEL_HEIGHT // 2, "×=→")
        y += _LINE_HEIGHT


def _draw_vector(
    draw: ImageDraw,
    column: int,
    y: int,
    title: str,
    values: Sequence[float],
    *,
    channels: str = CHANNELS,
    names: Sequence[str] = CHANNELS,
) -> None:
    """Four numbers in a square of cells, r and g above b and a, with the title over it.

    channels: those that colour the cells. names: the letters in the cells.
    """
    centre = _CENTRES[column]
    draw_centred(draw, centre, y, title, Font.BODY_BOLD)
    left, upper = centre - _PANEL_WIDTH // 2, y + _BOLD_HEIGHT
    for place, (channel, name, value) in enumerate(zip(channels, names, values, strict=True)):
        down, right = divmod(place, 2)
        corner = (left + right * _CELL[0], upper + down * _CELL[1])
        _draw_cell(draw, corner, _CELL, channel, float(value), name=name)


def _draw_cell(
    draw: ImageDraw,
    corner: tuple[int, int],
    size: tuple[int, int],
    channel: str,
    value: float,
    *,
    name: str = "",
) -> None:
    """A rectangle in the colour of a channel with a number, and a name where both fit.

    size: width and height. The number has as many digits as fit, up to four.
    """
    (x, y), (width, height) = corner, size
    draw.rectangle((x, y, x + width, y + height), fill=_FILLS[channel], outline=_LINE)
    at = y + (height - Font.BODY.line_height) // 2
    texts = [*(f"{value:.{digits}g}" for digits in range(4, 0, -1)), "…"]

    def fitting(room: int) -> str:
        return next((text for text in texts if Font.BODY.width(text) <= room), texts[-1])

    if not name:
        draw_centred(draw, x + width // 2, at, fitting(width - 3))
        return
    text = fitting(width - 3 * _INSET - Font.BODY_BOLD.width(name))
    if text == texts[-1]:
        text = fitting(width - 2 * _INSET)
    else:
        draw_line(draw, x + _INSET, at, name, Font.BODY_BOLD, fill=_LETTERS[channel])
    draw_line(draw, x + width - _INSET, at, text, align=Align.RIGHT, fill=INK)
