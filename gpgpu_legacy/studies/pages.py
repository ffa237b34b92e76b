"""Pictures of small products: the matrices, and pages in pixels that show passes of a run."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image
from PIL.ImageDraw import Draw, ImageDraw

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import InputError, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_operands, sample_inputs
from gpgpu_legacy.pipeline.storage import Sample
from gpgpu_legacy.present.colours import Colour
from gpgpu_legacy.present.pixel_text import Align, Font, draw_line, wrap
from gpgpu_legacy.runtime.machine import Machine

PAPER: Colour = (246, 246, 246)
INK: Colour = (28, 28, 28)
SOFT_INK: Colour = (92, 92, 92)
RULE: Colour = (205, 205, 205)
MARK: Colour = (226, 92, 12)

MARGIN = 36  # pixels
SPACE = 12

EXACT = Machine(exact=True, denormals=False)
"""Pictures are the same on every machine: nothing is contracted or reordered."""

Part: TypeAlias = tuple[int, Callable[[ImageDraw, int], None]]
"""A part of a page: its height, and what draws it below a y."""


# Runs -------------------------------------------------------------------------------------------


def matrices_for(
    p: PlanBuilder,
    largest: int,
    given: Mapping[str, ArrayLike] | None,
    *,
    own: Mapping[str, ArrayLike],
    samples: Mapping[str, Sample],
    seed: int | None,
    free: Sequence[str] = (),
) -> dict[str, F32]:
    """A and B of a product that a picture shows, by name.

    largest: number of rows or columns. own: the picture's, used if nothing is given and the product
    has their sizes. samples: makes matrices of other sizes, and of any size if there is a seed.
    free: the parameters that users may choose, besides the sizes. Raises InputError for other
    parameters, and for matrices that are too large, or do not fit.
    """
    check_parameters(p, {"m", "l", "n", *free})
    shapes = {name: matrix.array_shape for name, matrix in p.operands.items()}
    for name, shape in shapes.items():
        if max(shape) > largest:
            raise InputError(
                f"{name} is {shape_in_words(shape)}; the picture shows matrices of at most "
                f"{largest} rows and columns"
            )
    fits = all(shapes[name] == np.shape(matrix) for name, matrix in own.items())
    if given or (seed is None and fits):
        return as_operands(p.plan(), given or own)
    return sample_inputs(p.plan(), samples, seed or 0)


def check_parameters(p: PlanBuilder, free: Container[str]) -> None:
    """Raise InputError if a product has parameters other than these, which a study does not use."""
    known = find_product(p.name).parameters
    for name, value in p.parameters.items():
        if name not in free and value != known[name].plain_default:
            raise InputError(f"{name} is the method's own here; leave {name} = {value} out")


# Pages ------------------------------------------------------------------------------------------


def page(
    width: int,
    title: str,
    lines: Sequence[str],
    *,
    upper: Part,
    heads: Mapping[int, Sequence[str]],
    lower: Part,
    caption: str,
) -> Image.Image:
    """A title with lines, an upper part, a lower one with columns, and a caption, with rules.

    heads: of the columns, by the x of their middles; all have as many lines.
    """
    words = wrap(caption, Font.BODY, width - 2 * MARGIN)
    body, bold = Font.BODY.line_height, Font.BODY_BOLD.line_height
    first = MARGIN + Font.TITLE.line_height
    top = first + len(lines) * body + 2 * SPACE
    columns = top + upper[0] + 3 * SPACE
    below = columns + max(map(len, heads.values())) * bold + SPACE
    foot = below + lower[0]
    image = Image.new("RGB", (width, foot + SPACE + len(words) * body + MARGIN), PAPER)
    draw = Draw(image)
    draw_line(draw, MARGIN, MARGIN, title, Font.TITLE, fill=INK)
    for y, texts in ((first, lines), (foot + SPACE, words)):
        for place, text in enumerate(texts):
            draw_line(draw, MARGIN, y + place * body, text, fill=SOFT_INK)
    for x, head in heads.items():
        for place, text in enumerate(head):
            draw_centred(draw, x, columns + place * bold, text, Font.BODY_BOLD)
    upper[1](draw, top)
    lower[1](draw, below)
    for y in (columns - 3 * SPACE // 2, foot - SPACE // 2):
        draw_rule(draw, y, width)
    return image


def draw_rule(draw: ImageDraw, y: int, width: int) -> None:
    """A line from margin to margin of a page."""
    draw.line((MARGIN, y, width - MARGIN, y), fill=RULE)


def draw_centred(
    draw: ImageDraw, x: int, y: int, text: str, font: Font = Font.BODY, *, fill: Colour = INK
) -> None:
    """A line of text around x, below y."""
    draw_line(draw, x, y, text, font, align=Align.CENTRE, fill=fill)


def draw_operators(draw: ImageDraw, centres: Sequence[int], middle: int, operators: str) -> None:
    """The operators between neighbours, whose centres have these x."""
    for (left, right), operator in zip(pairwise(centres), operators, strict=True):
        y = middle - Font.TITLE.line_height // 2
        draw_centred(draw, (left + right) // 2, y, operator, Font.TITLE)
