"""Algorithms whose steps change size or stride, as Repeats with Tables and moving rectangles.

Others are shipped. On every executor that draws: their results are NumPy's, and those of the plan
written out. All numbers are such that nothing rounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from drawing import (
    F32,
    assert_same_bits,
    execute,
    program,
    show,
    texture,
)

from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.plan.numbers import Affine, Number, Table
from gpgpu_legacy.plan.plan import (
    Binding,
    CopyPass,
    Corners,
    FragmentPass,
    Plan,
    Repeat,
    Texcoords,
)
from gpgpu_legacy.plan.textures import MovingRect, Rect
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.registry import executors

DRAWING = [
    pytest.param(each.name, marks=[pytest.mark.gl] if each.name.startswith("gl-") else [])
    for each in executors()
    if FragmentPass in each.capabilities.passes
]


def span(number: int, x: tuple[Number, Number], y: tuple[Number, Number]) -> Texcoords:
    """A coordinate set that goes from x[0] to x[1] and from y[0] to y[1] over the rectangle."""
    (left, right), (low, high) = x, y
    corners: Corners = (
        (left, low, 0.0, 1.0), (right, low, 0.0, 1.0),
        (right, high, 0.0, 1.0), (left, high, 0.0, 1.0),
    )  # fmt: skip
    return Texcoords(number, corners)


def column(texels: F32) -> F32:
    """Texels of one channel of a matrix."""
    return texels[..., None].astype(np.float32)


def back_and_forth(draw: FragmentPass, count: int, given: F32) -> Plan:
    """The pass drawn to Q from P, and copied back to P, so many times; P is shown."""
    rows, width = given.shape
    copy = CopyPass("Q", draw.rect, "P", draw.rect)
    p, q = (texture(name, width, rows, R32F) for name in ("P", "Q"))
    return show([Repeat(count, (draw, copy))], p, {"P": column(given)}, others=[q])


def table(*values: float) -> Table:
    return Table(tuple(map(float, values)))


# The algorithms ----------------------------------------------------------------------------------

TEX = "TEX R{0}, fragment.texcoord[{0}], texture[0], RECT;"


def factors() -> tuple[Plan, F32, F32]:
    """LU without pivots: of the rest of the matrix, first a column is scaled, then all updated.

    The matrix is made from factors of small whole numbers, with pivots that are powers of 2.
    """
    n, rng = 6, np.random.default_rng(4)
    lower = np.tril(rng.integers(-3, 4, (n, n)), -1) + np.eye(n)
    upper = np.triu(rng.integers(-3, 4, (n, n)), 1) + np.diag(2.0 ** rng.integers(-1, 3, n))
    given = (lower @ upper).astype(np.float32)
    first, left = Affine(1, 1), Affine(n - 1, -1)  # row and column after the pivot's, and how many
    pivot, whole = Affine(0.5, 1.0), float(n)
    below, beside = (Affine(1.0, 1.0), whole), (Affine(0.0, 1.0), Affine(1.0, 1.0))
    scale = FragmentPass(
        program(TEX.format(0), TEX.format(1), "RCP R1, R1.x;", "MUL result.color, R0, R1;"),
        (Binding(0, "P"),),
        ("Q",),
        MovingRect(Affine(0, 1), first, 1, left),
        (span(0, beside, below), span(1, (pivot, pivot), (pivot, pivot))),
    )
    update = FragmentPass(
        program(*(TEX.format(i) for i in range(3)), "MAD result.color, -R1, R2, R0;"),
        (Binding(0, "P"),),
        ("Q",),
        MovingRect(first, first, left, left),
        (span(0, below, below), span(1, (pivot, pivot), below), span(2, below, (pivot, pivot))),
    )
    body = [
        step
        for each in (scale, update)
        for step in (each, CopyPass("Q", each.rect, "P", each.rect))
    ]
    p, q = (texture(name, n, n, R32F) for name in ("P", "Q"))
    plan = show([Repeat(n - 1, tuple(body))], p, {"P": column(given)}, others=[q])
    return plan, given, (lower - np.eye(n) + upper).astype(np.float32)


def prefix_sums() -> tuple[Plan, F32, F32]:
    """Sums of all before: offsets of 1, 2, 4, 8 texels; as many zeros lie to the left."""
    n, given = 16, np.zeros((2, 32), np.float32)
    given[:, n:] = np.random.default_rng(5).integers(-9, 9, (2, n))
    offsets = (1, 2, 4, 8)
    draw = FragmentPass(
        program(TEX.format(0), TEX.format(1), "ADD result.color, R0, R1;"),
        (Binding(0, "P"),),
        ("Q",),
        Rect(n, 0, n, 2),
        (
            span(0, (float(n), 2.0 * n), (0.0, 2.0)),
            span(1, (table(*(n - d for d in offsets)), table(*(2 * n - d for d in offsets))),
                 (0.0, 2.0)),
        ),
    )  # fmt: skip
    plan = back_and_forth(draw, len(offsets), given)
    return plan, given, np.cumsum(given[:, n:], axis=1, dtype=np.float32)


ALGORITHMS: dict[str, tuple[Callable[[], tuple[Plan, F32, F32]], Callable[[F32], F32]]] = {
    "factors": (factors, lambda texels: texels[..., 0]),
    "prefix sums": (prefix_sums, lambda texels: texels[:, 16:, 0]),
}


@pytest.mark.parametrize("executor", DRAWING)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_results_are_numpys(name: str, executor: str, ready: Callable[[str], Executor]) -> None:
    make, result = ALGORITHMS[name]
    plan, given, expected = make()
    runs_it = ready(executor)
    texels = execute(plan, {"P": column(given)}, runs_it)
    assert_same_bits(result(texels), expected)
    assert_same_bits(texels, execute(expand(plan), {"P": column(given)}, runs_it))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_fragments_are_those_of_the_algorithm(name: str) -> None:
    """k and k² for k = 5 … 1; 4 steps of 2·16."""
    expected = {"factors": 15 + 55, "prefix sums": 128}
    plan, _, _ = ALGORITHMS[name][0]()
    counts = count_plan(plan)
    assert counts.fragments == expected[name]
    assert counts.copy_bytes == 2 * 4 * expected[name]
    assert counts == count_plan(expand(plan))
