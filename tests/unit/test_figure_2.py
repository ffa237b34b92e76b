from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from gpgpu_legacy.present.pixel_text import BEYOND_LATIN_1, Font, wrap
from gpgpu_legacy.runtime.registry import find_executor
from gpgpu_legacy.serial import with_fields
from gpgpu_legacy.studies.figure_2 import (
    DEMONSTRATION_A,
    DEMONSTRATION_B,
    METHOD,
    demonstrate,
    scales_of,
)

SIZES = [(1, 1, 1), (2, 16, 5), (16, 3, 1), (16, 16, 16)]
RED = (204, 52, 64)
GRID = (92, 118, 152)
CELL = 56
OPERANDS_END = 350  # the y below which a figure of 1×1 has passes alone


def numpy_executor():
    return find_executor("numpy")


def operands(m, l, n):  # noqa: E741 - the papers' own letter
    rng = np.random.default_rng(2003)
    return rng.random((m, l), np.float32), rng.random((l, n), np.float32)


def shown(a, b):
    """The demonstration of these matrices."""
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    p = METHOD.builder(m=a.shape[0], l=a.shape[1], n=b.shape[1])
    return demonstrate(numpy_executor(), p, {"A": a, "B": b})


def check_frames(demonstration, a, b):
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    assert len(demonstration.frames) == a.shape[1]
    for i, frame in enumerate(demonstration.frames):
        product = np.outer(a[:, i], b[i])
        total = total + product
        assert np.array_equal(frame.column, np.outer(a[:, i], np.ones(b.shape[1], np.float32)))
        assert np.array_equal(frame.row, np.outer(np.ones(a.shape[0], np.float32), b[i]))
        assert np.array_equal(frame.product, product)
        assert np.array_equal(frame.framebuffer, total)
        assert frame.framebuffer.dtype == np.float32
    assert np.allclose(total, a.astype(float) @ b.astype(float), rtol=1e-6)


# The demonstration ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_frames_are_outer_products_and_their_sums(size):
    a, b = operands(*size)
    check_frames(shown(a, b), a, b)


def test_the_operands_in_the_code_are_exact_and_saturate_in_part():
    demonstration = demonstrate(numpy_executor())
    a, b = np.array(DEMONSTRATION_A), np.array(DEMONSTRATION_B)
    assert a.shape == b.shape == (4, 4)
    assert np.array_equal(demonstration.frames[-1].framebuffer, a @ b)
    assert 4 <= int((a @ b > 1).sum()) <= 12


def test_eight_bits_saturate_in_the_framebuffer():
    p = METHOD.builder(n=4, texture_format="unorm8")
    demonstration = demonstrate(numpy_executor(), p)
    last = demonstration.frames[-1].framebuffer
    assert last.min() >= 0.0
    assert last.max() == 1.0
    steps = last.astype(float) * 255
    assert np.allclose(steps, np.rint(steps), atol=1e-4)
    product = np.array(DEMONSTRATION_A) @ np.array(DEMONSTRATION_B)
    # Each operand is off by half a step at most, and so is each of the four products.
    assert np.abs(last - np.minimum(product, 1)).max() < 4 * 1.5 / 255


def test_random_matrices_come_from_the_seed_alone():
    one, same, other = (
        demonstrate(numpy_executor(), METHOD.builder(n=4), seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.a, same.a)
    assert not np.array_equal(one.a, other.a)
    assert one.a.min() >= 0 and one.a.max() < 1
    assert not np.array_equal(demonstrate(numpy_executor()).a, one.a)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("m=17",), "A is 17×4"),
        (("alpha=0.5",), "leave alpha = 0.5 out"),
        (("transpose_a=true",), "leave transpose_a = True out"),
        (("block=2",), "has no block"),
        (("jacobi",), "jacobi is neither a matrix nor a parameter"),
        (("--plot", "f.svg"), "f.svg should end in .png or .gif"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(run, arguments, words):
    code, out, err = run("study", "figure-2", *arguments)
    assert (code, out) == (2, "")
    assert words in err and err.count("\n") == 1


def test_the_command_takes_the_matrices_of_files(run, tmp_path):
    a, b = operands(3, 2, 5)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    picture = tmp_path / "f.png"
    code, out, err = run(
        "study", "figure-2", f"A={tmp_path / 'a.npy'}", f"B={tmp_path / 'b.npy'}",
        "--executor", "numpy", "--json", "--plot", str(picture),
    )  # fmt: skip
    assert code == 0 and f"wrote {picture}" in err
    shown_frames = json.loads(out)["frames"]
    assert np.allclose(shown_frames[-1]["framebuffer"], a @ b)
    expected = tmp_path / "expected.png"
    shown(a, b).plot(expected)
    assert picture.read_bytes() == expected.read_bytes()


# The drawing ----------------------------------------------------------------------------------


def one_cell(framebuffer, values=(0.5,)):
    """The pixels of demonstrations of 1×1 whose framebuffer holds that, and then each of values."""
    demonstration = shown([[0.5]], [[0.5]])
    (frame,) = demonstration.frames
    frames = tuple(
        with_fields(frame, framebuffer=np.full((1, 1), value, np.float32))
        for value in (framebuffer, *values)
    )
    return np.asarray(with_fields(demonstration, frames=frames).picture())


def background(pixels):
    """The commonest colour of each square panel in the last column of the picture, from its top.

    Panels are framed in the colour of the grid, so runs of it in the middle of the column end them.
    """
    grid = (pixels == GRID).all(axis=-1)
    grid[:OPERANDS_END] = False
    right = np.flatnonzero(grid.any(axis=0))[-1]
    left = right - CELL
    rows = np.flatnonzero(grid[:, right])
    tops = rows[np.flatnonzero(np.diff(rows, prepend=-2) > 1)]
    colours = []
    for top in tops:
        panel = pixels[top + 1 : top + CELL, left + 1 : right].reshape(-1, 3)
        found, counts = np.unique(panel, axis=0, return_counts=True)
        colours.append(tuple(int(level) for level in found[counts.argmax()]))
    return colours


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ((0.0, 0.25, 1.0), (0, 64, 255)),
        ((1.0, 2.0, 0.5), (128, 255, 64)),  # white is the largest value
        ((-1.0, 0.0, 1.0), (0, 128, 255)),  # black is the least, if negative
        ((0.001, 0.002, 0.25), (0, 1, 64)),  # the product, 0.25, is on the same scale
        ((np.inf, -np.inf, 1.0), (255, 0, 255)),
    ],
)
def test_greys_reach_as_far_as_the_values(values, levels):
    first, *others = values
    assert background(one_cell(first, others)) == [(level,) * 3 for level in levels]


def test_nan_is_red_and_says_so():
    pixels = one_cell(np.nan, (1.0,))
    assert background(pixels) == [RED, (255, 255, 255)]
    red = (pixels == RED).all(axis=-1)
    assert red.sum() < (CELL - 1) ** 2, "no text in the cell"
    assert not (one_cell(1.0) == RED).all(axis=-1).any()


@pytest.mark.parametrize(
    ("a", "b", "names", "ends", "texts"),
    [
        ([[0.5]], [[0.5]], [("A", "B", "product", "framebuffer")], [(0, 1)], [{"0.50", "0.25"}]),
        (
            [[-2]],
            [[0.125]],
            [("A",), ("B",), ("product", "framebuffer")],
            [(-2, 0), (0, 0.125), (-0.25, 0)],
            [{"-2"}, {"0.125"}, {"-0.25"}],
        ),
    ],
)
def test_scales_are_shared_where_they_can_be(a, b, names, ends, texts):
    scales = scales_of(shown(a, b))
    assert [scale.names for scale in scales] == names
    assert [(scale.black, scale.white) for scale in scales] == ends
    assert [set(scale.texts) for scale in scales] == texts


@pytest.mark.parametrize("size", SIZES[:2])
def test_nothing_reaches_into_the_margin(size):
    a, b = operands(*size)
    a[0, 0] = np.nan
    pixels = np.asarray(shown(a, b).picture())
    inside = np.zeros(pixels.shape[:2], bool)
    inside[30:-30, 30:-30] = True
    assert np.all(pixels[~inside] == pixels[0, 0])


@pytest.mark.parametrize("size", [(1, 1, 1), (3, 2, 5)])
def test_the_animation_has_a_frame_for_each_pass(size, tmp_path):
    shown(*operands(*size)).plot(tmp_path / "figure.gif")
    with Image.open(tmp_path / "figure.gif") as animation:
        assert animation.n_frames == size[1]
        frames, durations_ms = [], []
        for number in range(animation.n_frames):
            animation.seek(number)
            durations_ms.append(animation.info["duration"])
            frames.append(np.asarray(animation.convert("RGB")).astype(int))
    assert durations_ms == [1000] * (size[1] - 1) + [3000]
    assert all((f != g).any() for f, g in pairwise(frames))
    assert all((f[0, 0] == f[-1, -1]).all() for f in frames)


# The text -------------------------------------------------------------------------------------


@pytest.mark.parametrize("font", Font)
def test_every_character_has_a_glyph(font):
    ascii_characters = [chr(code) for code in range(32, 127)]
    for character in [*ascii_characters, *BEYOND_LATIN_1, *"×·"]:
        assert font.width(character) > 0, character
    assert font.width("ab") == font.width("a") + font.width("b")


def test_text_is_wrapped_at_spaces():
    text = "one two three four five six"
    lines = wrap(text, Font.BODY, 100)
    assert " ".join(lines) == text
    assert len(lines) > 1
    assert all(Font.BODY.width(line) <= 100 for line in lines)
    assert wrap("incomprehensibilities of", Font.BODY, 20) == ["incomprehensibilities", "of"]


# The golden -----------------------------------------------------------------------------------


def test_golden_figure(check_golden):
    check_golden(demonstrate(numpy_executor()).picture(), "figure-2.png")
