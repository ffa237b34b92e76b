from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.cli import app
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.prepared import Result, Timings
from gpgpu_legacy.runtime.registry import find_executor
from gpgpu_legacy.studies.multichannel.model import (
    DEMONSTRATION_X,
    Demonstration,
    demonstrate,
    random_demonstration,
)
from gpgpu_legacy.studies.multichannel.plot import animate_multichannel, draw_multichannel

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "multichannel.png"
SHAPES = [(1, 1, 1), (2, 2, 2), (4, 4, 4), (3, 5, 1), (1, 8, 7), (8, 3, 8)]


def numpy_executor() -> Executor:
    return find_executor("numpy")


def operands(*shape: int) -> tuple[Any, Any]:
    return random_demonstration(Shape(*shape), seed=9)


def quadrants(matrix: Any) -> list[Any]:
    """Equation (8): the four quadrants, the matrix padded with zeros to even sizes."""
    rows, columns = ((size + 1) // 2 for size in matrix.shape)
    padded = np.zeros((2 * rows, 2 * columns))
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    return [padded[i : i + rows, j : j + columns] for i in (0, rows) for j in (0, columns)]


# The demonstration ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_every_number_is_that_of_equations_8_to_11(shape: tuple[int, int, int]) -> None:
    x, y = operands(*shape)
    demonstration = demonstrate(numpy_executor(), x, y)
    assert np.array_equal(demonstration.z, x @ y)
    (a, b, c, d), (e, f, g, h) = quadrants(x), quadrants(y)
    total = np.zeros((*a[:, :1].shape[:1], e.shape[1], 4))
    assert len(demonstration.multiply_adds) == 2 * a.shape[1]
    for number, each in enumerate(demonstration.multiply_adds):
        m, second = divmod(number, 2)
        assert (each.x.matrix, each.y.matrix) == ("X", "Y")
        assert (each.x.channels, each.y.channels) == (("rrbb", "rgrg"), ("ggaa", "baba"))[second]
        left = ((a, a, c, c), (b, b, d, d))[second]
        right = ((e, f, e, f), (g, h, g, h))[second]
        for channel, (p, q) in enumerate(zip(left, right, strict=True)):
            term = np.outer(p[:, m], q[m])
            total[..., channel] += term
            assert np.array_equal(each.product[..., channel], term)
            assert np.array_equal(each.total[..., channel], total[..., channel])
        for i, j in demonstration.fragments:
            assert each.x.place((i, j)) == (i, m)
            assert each.y.place((i, j)) == (m, j)
            assert each.x.texel[i, j].tolist() == [quadrant[i, m] for quadrant in (a, b, c, d)]
            assert each.y.texel[i, j].tolist() == [quadrant[m, j] for quadrant in (e, f, g, h)]
            assert each.x.swizzled[i, j].tolist() == [quadrant[i, m] for quadrant in left]
            assert each.y.swizzled[i, j].tolist() == [quadrant[m, j] for quadrant in right]


class Forger:
    """Claims 0.25 for every texel of every run."""

    name = summary = "forger"

    def __init__(self) -> None:
        self.programs: list[Any] = []

    def run(self, plan: Any, given: Any, machine: Any = None, observer: Any = None) -> Result:
        each = plan.steps[0]
        if observer is not None:
            self.programs.append(each.program)
            extent = plan.texture(each.target).extent
            texels = np.full((extent.height, extent.width, 4), 0.25, np.float32)
            observer(0, each, lambda _: texels)
        return Result({"C": np.full((4, 4), 0.5, np.float32)}, Timings(0, 0, 0))


def test_every_number_comes_from_the_executor() -> None:
    forger = Forger()
    demonstration = demonstrate(forger)  # type: ignore[arg-type]
    assert np.all(demonstration.z == 0.5)
    for each in demonstration.multiply_adds:
        for operand in (each.x, each.y):
            assert np.all(operand.texel == 0.25)
            assert np.all(operand.swizzled == 0.25)
            assert np.all(operand.rows == 0.0)
            assert np.all(operand.columns == 0.0)
        assert np.all(each.product == 0.25)
        assert np.all(each.total == 0.25)
    assert len(forger.programs) == 8 * len(demonstration.multiply_adds)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.ones((9, 1)), np.ones((1, 1)), "X is 9×1; the picture shows"),
        (np.ones((2, 3)), np.ones((4, 2)), "X has 3 columns and Y has 4 rows"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(x: Any, y: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        demonstrate(numpy_executor(), x, y)
    assert "\n" not in str(caught.value)


# The drawing ------------------------------------------------------------------------------------


def pixels(demonstration: Demonstration, fragment: tuple[int, int] | None = None) -> Any:
    return np.asarray(draw_multichannel(demonstration, fragment)).astype(int)


@pytest.mark.parametrize("shape", [(1, 1, 1), (8, 3, 8)])
def test_nothing_reaches_into_the_margin(shape: tuple[int, int, int]) -> None:
    x, y = operands(*shape)
    drawn = pixels(demonstrate(numpy_executor(), -1234.5 * x, y))
    inside = np.zeros(drawn.shape[:2], bool)
    inside[30:-30, 30:-30] = True
    assert np.all(drawn[~inside] == drawn[0, 0])


def test_one_number_shows_where_it_is_used_and_nowhere_else() -> None:
    """X[0, 0] reaches fragment (0, 0) and not fragment (1, 1), which shows it in the matrix."""
    changed = np.array(DEMONSTRATION_X)
    changed[0, 0] = 3
    before, after = demonstrate(numpy_executor()), demonstrate(numpy_executor(), changed)

    def differing(fragment: tuple[int, int]) -> tuple[int, Any]:
        different = (pixels(before, fragment) != pixels(after, fragment)).any(axis=-1)
        return int(different.sum()), np.flatnonzero(different.any(axis=1))

    count_used, rows_used = differing((0, 0))
    count_other, rows_other = differing((1, 1))
    half = len(pixels(before)) // 2
    assert 0 < count_other < count_used
    assert rows_other.max() < half < rows_used.max()


def test_the_animation_goes_through_the_fragments(tmp_path: Path) -> None:
    demonstration = demonstrate(numpy_executor(), *operands(3, 2, 2))
    animate_multichannel(demonstration, tmp_path / "m.gif")
    with Image.open(tmp_path / "m.gif") as animation:
        frames = []
        for number in range(animation.n_frames):  # type: ignore[attr-defined]
            animation.seek(number)
            frames.append(np.asarray(animation.convert("RGB")).astype(int))
            assert animation.info["duration"] == 3000
    assert len(frames) == 2
    assert all((f != g).any() for f, g in pairwise(frames))
    for frame, fragment in zip(frames, demonstration.fragments, strict=True):
        off = np.abs(frame - pixels(demonstration, fragment)).max(axis=-1)
        assert (off <= 8).mean() > 0.99, "only the edges of letters may find no colour of their own"
        assert (off == 0).mean() > 0.97


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--transpose-a",), "equation (10), which transposes nothing"),
        (("--animate", "-o", "m.png"), "should end in .gif"),
    ],
)
def test_the_command_refuses_in_one_line(arguments: tuple[str, ...], words: str) -> None:
    found = CliRunner().invoke(app, ["figure", "multichannel", "--executor", "numpy", *arguments])
    assert isinstance(found.exception, InputError)
    assert words in str(found.exception)


# The golden -------------------------------------------------------------------------------------


def test_golden_figure(check_golden: Callable[[Image.Image, str], None]) -> None:
    check_golden(draw_multichannel(demonstrate(numpy_executor())), "multichannel.png")


def test_the_committed_figure_is_the_golden() -> None:
    with Image.open(ROOT / "figures" / "multichannel.png") as shown, Image.open(GOLDEN) as golden:
        assert np.array_equal(np.asarray(shown), np.asarray(golden))
