"""A picture of the multichannel product at work: Hall, Carr & Hart 2003, equations (8) to (11).

A texel holds one element of each quadrant of a matrix, in r, g, b and a. The picture follows one
fragment of a run of hall-carr-hart-multi: the two texels that a step looks up, as its two
multiply-adds swizzle them, the products, and the sum. Every number was read back from an executor,
and swizzles, registers and texels are read from the program: the picture computes nothing itself.

The matrices are called X, Y and Z as in the equations, whose letters A to H are their quadrants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from gpgpu_legacy.files import Write
from gpgpu_legacy.present.pictures import animation_of
from gpgpu_legacy.present.pixel_text import Font, draw_line, wrap
from gpgpu_legacy.studies.multichannel.cells import PAGE_WIDTH, centre_of, draw_rule
from gpgpu_legacy.studies.multichannel.matrices import draw_matrices, matrices_height
from gpgpu_legacy.studies.multichannel.steps import HEADS, LINE_HEIGHT, draw_result, draw_step
from gpgpu_legacy.studies.pages import INK, MARGIN, PAPER, SPACE, draw_centred, draw_lines

if TYPE_CHECKING:
    from gpgpu_legacy.studies.multichannel.model import Demonstration, MultiplyAdd


def draw_multichannel(
    demonstration: Demonstration, fragment: tuple[int, int] | None = None
) -> Image.Image:
    """The picture for one fragment, as an RGB image.

    fragment: its row and column. By default one whose row and column differ, if there is any.
    """
    return _page(demonstration, fragment or demonstration.typical)


def animated_multichannel(demonstration: Demonstration) -> Write:
    """What fills a GIF that shows every fragment for three seconds."""
    images = [_page(demonstration, fragment) for fragment in demonstration.fragments]
    palette = _palette(images[0])
    indexed = [_indexed(image, palette) for image in images]
    return animation_of(indexed, [3000] * len(images))


def _palette(image: Image.Image) -> NDArray[np.int32]:
    """The 256 commonest colours, (256, 3). Areas keep theirs; the edges of letters may not."""
    counts = image.getcolors(image.width * image.height)
    assert counts is not None
    return np.array([color for _, color in sorted(counts, reverse=True)[:256]], np.int32)


def _indexed(image: Image.Image, palette: NDArray[np.int32]) -> Image.Image:
    """The image in the nearest colours of a palette, which all frames of an animation share."""
    pixels = np.asarray(image).astype(np.int32)
    codes = (pixels[..., 0] << 16) | (pixels[..., 1] << 8) | pixels[..., 2]
    different, places = np.unique(codes, return_inverse=True)
    colors = np.stack([different >> 16, (different >> 8) & 255, different & 255], axis=-1)
    distances = ((colors[:, None] - palette[None]) ** 2).sum(axis=-1)
    nearest = distances.argmin(axis=-1).astype(np.uint8)
    indexed = Image.fromarray(nearest[places].reshape(codes.shape))
    indexed.putpalette(palette.astype(np.uint8).tobytes())
    return indexed


def _page(demonstration: Demonstration, fragment: tuple[int, int]) -> Image.Image:
    """Title, matrices, a line of panels for each multiply-add, caption."""
    caption = wrap(_caption(demonstration, fragment), Font.BODY, PAGE_WIDTH - 2 * MARGIN)
    steps = _steps(demonstration)

    title = MARGIN
    matrices = title + Font.TITLE.line_height + 2 * Font.BODY.line_height + 2 * SPACE
    heads = matrices + matrices_height(demonstration) + 3 * SPACE
    lines = heads + Font.BODY_BOLD.line_height + SPACE
    heights = [len(step) * LINE_HEIGHT + 2 * SPACE for step in steps]
    foot = lines + sum(heights)
    height = foot + SPACE + len(caption) * Font.BODY.line_height + MARGIN

    image = Image.new("RGB", (PAGE_WIDTH, height), PAPER)
    draw = ImageDraw.Draw(image)
    _draw_title(draw, title, demonstration)
    draw_matrices(draw, matrices, demonstration, fragment)
    draw_rule(draw, heads - 3 * SPACE // 2)
    for column, head in enumerate(HEADS):
        draw_centred(draw, centre_of(column), heads, head, Font.BODY_BOLD)
    y = lines
    for number, (step, step_height) in enumerate(zip(steps, heights, strict=True)):
        if number:
            draw_rule(draw, y - SPACE)
        draw_step(draw, y, step, fragment)
        y += step_height
    draw_result(draw, y - 3 * SPACE)
    draw_rule(draw, foot - SPACE // 2)
    draw_lines(draw, foot + SPACE, caption)
    return image


def _steps(demonstration: Demonstration) -> list[list[MultiplyAdd]]:
    """The multiply-adds, grouped by the texels that they share."""
    steps: list[list[MultiplyAdd]] = []
    for multiply_add in demonstration.multiply_adds:
        if steps and np.array_equal(steps[-1][0].x.columns, multiply_add.x.columns):
            steps[-1].append(multiply_add)
        else:
            steps.append([multiply_add])
    return steps


def _caption(demonstration: Demonstration, fragment: tuple[int, int]) -> str:
    count = len(_steps(demonstration))
    first, second = (
        f"X.{pair.x.channels} × Y.{pair.y.channels}" for pair in demonstration.multiply_adds[:2]
    )
    sentences = (
        f"The fragment in row {fragment[0]} and column {fragment[1]} makes the four elements of Z "
        "that are framed, one in each quadrant, all at once.",
        "Its one step" if count == 1 else f"Each of its {count} steps",
        f"looks up one texel of X and one of Y and multiplies them twice: {first}, equation (9), "
        f"and {second}; their sum is equation (10), and these multiply-adds are listing (11).",
        "A cell's colour and letter name the channel that its number was read from; in a product "
        "the letters name the quadrants.",
        "After Hall, Carr & Hart 2003, Section 4.",
    )
    return " ".join(sentences)


def _draw_title(draw: ImageDraw.ImageDraw, y: int, demonstration: Demonstration) -> None:
    title = "Multichannel matrix multiplication"
    draw_line(draw, MARGIN, y, title, Font.TITLE, fill=INK)
    rows, columns = demonstration.halves[2]
    count = rows * columns
    lines = (
        f"Z = X × Y, {demonstration.sizes}, by "
        f"{f'{count} fragments' if count > 1 else 'one fragment'} in one pass.",
        "A texel holds one element of each quadrant: in r, g, b and a, equation (8).",
    )
    draw_lines(draw, y + Font.TITLE.line_height, lines)
