from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from legible import check_legible
from matplotlib.figure import Figure

from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.studies.multichannel import (
    DEMONSTRATION_X,
    DEMONSTRATION_Y,
    METHOD,
    Multichannel,
    demonstrate,
)

SHAPES = [(1, 1, 1), (2, 2, 2), (4, 4, 4), (3, 5, 1), (1, 8, 7), (8, 3, 8)]


def numpy_executor() -> Executor:
    return find_executor("numpy")


def operands(*shape: int) -> tuple[Any, Any]:
    """Random integers from 0 to 9."""
    m, l, n = shape  # noqa: E741 - the papers' own letter
    given = demonstrate(numpy_executor(), METHOD.builder(m=m, l=l, n=n), seed=9)
    assert {*given.a.flat, *given.b.flat} <= {*range(10)}
    return given.a, given.b


def shown(x: Any, y: Any, texel: tuple[int, int] | None = None) -> Multichannel:
    p = METHOD.builder(m=x.shape[0], l=x.shape[1], n=y.shape[1])
    return demonstrate(numpy_executor(), p, {"A": x, "B": y}, texel=texel)


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
    (a, b, c, d), (e, f, g, h) = quadrants(x), quadrants(y)
    for i, j in np.ndindex(a.shape[0], e.shape[1]):
        demonstration = shown(x, y, (j, i))
        assert np.array_equal(demonstration.z, x @ y)
        adds = demonstration.multiply_adds
        assert len(adds) == 2 * a.shape[1]
        total = np.zeros(4)
        for turn, add in enumerate(adds):
            m, second = divmod(turn, 2)
            assert add.channels == (("rrbb", "rgrg"), ("ggaa", "baba"))[second]
            left = [quadrant[i, m] for quadrant in ((a, a, c, c), (b, b, d, d))[second]]
            right = [quadrant[m, j] for quadrant in ((e, f, e, f), (g, h, g, h))[second]]
            texels = [add.x.texel, add.y.texel]
            assert [(t.unit, t.y, t.x) for t in texels if t] == [(0, i, m), (1, m, j)]
            assert add.x.sampled == tuple(quadrant[i, m] for quadrant in (a, b, c, d))
            assert add.y.sampled == tuple(quadrant[m, j] for quadrant in (e, f, g, h))
            assert [list(operand.value) for operand in add.step.operands[:2]] == [left, right]
            total += np.multiply(left, right)
            assert list(add.product) == list(np.multiply(left, right))
            assert list(add.total) == list(total)


# The drawing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("m=9", "n=1"), "A is 9×1; the picture shows matrices of at most 8"),
        (("transpose_a=true",), "leave transpose_a = True out"),
        (("block=2",), "leave block = 2 out"),
        (("--plot", "m.gif"), "m.gif should end in .png or .svg or .pdf"),
    ],
)
def test_the_command_refuses_in_one_line(run: Any, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run("study", "multichannel", "--executor", "numpy", *arguments)
    assert (code, out) == (2, "")
    assert words in err and err.count("\n") == 1


def test_the_table_has_the_numbers_of_the_typical_fragment(run: Any) -> None:
    """Fragment (0, 1) of equation (8): D and H are the lower right quadrants of X and Y."""
    code, out, _ = run("study", "multichannel", "--executor", "numpy", "--format", "csv")
    assert code == 0
    first, *rows = out.splitlines()
    assert first.startswith("table,X looked up")
    x, y = np.array(DEMONSTRATION_X), np.array(DEMONSTRATION_Y)
    product = x @ y
    total = [product[i, j] for i in (0, 2) for j in (1, 3)]
    assert len(rows) == 4 and rows[-1].endswith(",{} {} {} {}".format(*total))


# The picture ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 4, 4), (8, 3, 8)])
def test_the_picture_can_be_read_and_has_every_number(
    shape: tuple[int, int, int], tmp_path: Path, drawn_figures: list[Figure]
) -> None:
    product = shown(*operands(*shape))
    product.plot(tmp_path / "picture.svg")
    [figure] = drawn_figures
    check_legible(figure)
    x, y, z, *cells = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    for texts, matrix in zip((x, y, z), (product.a, product.b, product.z), strict=True):
        upper_left, upper_right, lower_left, lower_right = quadrants(matrix)
        padded = np.block([[upper_left, upper_right], [lower_left, lower_right]])
        assert list(map(float, texts)) == list(padded.ravel())
    adds = product.multiply_adds
    sums = cells[5::6]
    assert [[float(t.split()[1]) for t in one] for one in sums] == [[*a.total] for a in adds]
