from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.studies.figure_2 import METHOD, demonstrate

SIZES = [(1, 1, 1), (2, 16, 5), (16, 3, 1), (16, 16, 16)]


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


@pytest.mark.parametrize("size", [(1, 1, 1), (3, 2, 5)])
def test_the_animation_draws_each_pass_panel_by_panel(size, tmp_path):
    shown(*operands(*size)).plot(tmp_path / "figure.gif")
    with Image.open(tmp_path / "figure.gif") as animation:
        assert animation.n_frames == 4 * size[1]
        frames, durations_ms = [], []
        for number in range(animation.n_frames):
            animation.seek(number)
            durations_ms.append(animation.info["duration"])
            frames.append(np.asarray(animation.convert("RGB")).astype(int))
    assert durations_ms == [*([800, 800, 800, 1400] * size[1])[:-1], 3000]
    assert all((f != g).any() for f, g in pairwise(frames))
    assert all((f[0, 0] == f[-1, -1]).all() for f in frames)


# The golden -----------------------------------------------------------------------------------


def test_golden_figure(check_golden):
    check_golden(demonstrate(numpy_executor()).picture(), "figure-2.png")
