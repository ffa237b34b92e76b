"""Algorithms whose steps change size or stride, as Repeats with Tables and moving rectangles.

On every executor that draws: their results are NumPy's, and those of the plan written out. All
numbers are such that nothing rounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from drawing import (
    F32,
    assert_same_bits,
    execute,
    fragment_texcoords,
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
    ParameterValue,
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


def maximum() -> tuple[Plan, F32, F32]:
    """Rows of 16: each step takes the larger of a texel and the one half the rest to its right."""
    given = np.random.default_rng(3).integers(-99, 99, (3, 16)).astype(np.float32)
    halves = (8, 4, 2, 1)
    draw = FragmentPass(
        program(TEX.format(0), TEX.format(1), "MAX result.color, R0, R1;"),
        (Binding(0, "P"),),
        ("Q",),
        MovingRect(0, 0, Table(halves), 3),
        (
            span(0, (0.0, table(*halves)), (0.0, 3.0)),
            span(1, (table(*halves), table(*(2 * half for half in halves))), (0.0, 3.0)),
        ),
    )
    plan = back_and_forth(draw, len(halves), given)
    return plan, given, given.max(axis=1)


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


def sorted_rows() -> tuple[Plan, F32, F32]:
    """Batcher's bitonic sort: ten steps that differ in program.local alone.

    local[0]: the distance to the partner, one over twice that, one over twice the length of a run.
    """
    n = 16
    given = np.random.default_rng(6).permutation(n).astype(np.float32)[None]
    steps = [(2**i, 2**j) for i in range(1, 5) for j in reversed(range(i))]
    local = (
        table(*(j for _, j in steps)),
        table(*(1 / (2 * j) for _, j in steps)),
        table(*(1 / (2 * k) for k, _ in steps)),
        0.0,
    )
    text = program(
        "PARAM step = program.local[0];",
        "FLR R0, fragment.texcoord[0];",
        "MUL R1, R0.x, step.yzzz;",
        "FRC R1, R1;",
        "SGE R1, R1, 0.5;",  # x: whether the partner lies to the left; y: whether the run falls
        "MAD R2.x, R1.x, -2, 1;",
        "MAD R2.x, R2.x, step.x, fragment.texcoord[0].x;",
        "MOV R2.y, fragment.texcoord[0].y;",
        "TEX R3, R2, texture[0], RECT;",
        "TEX R0, fragment.texcoord[0], texture[0], RECT;",
        "MIN R2, R0, R3;",
        "MAX R3, R0, R3;",
        "SUB R1.x, R1.x, R1.y;",
        "MUL R1.x, R1.x, R1.x;",  # 1 where just one of them holds: the larger is kept
        "LRP result.color, R1.x, R3, R2;",
    )
    draw = FragmentPass(
        text, (Binding(0, "P"),), ("Q",), Rect(0, 0, n, 1), (fragment_texcoords(0, n, 1),),
        (ParameterValue(0, local),),
    )  # fmt: skip
    plan = back_and_forth(draw, len(steps), given)
    return plan, given, np.sort(given, axis=1)


ALGORITHMS: dict[str, tuple[Callable[[], tuple[Plan, F32, F32]], Callable[[F32], F32]]] = {
    "maximum": (maximum, lambda texels: texels[:, 0, 0]),
    "factors": (factors, lambda texels: texels[..., 0]),
    "prefix sums": (prefix_sums, lambda texels: texels[:, 16:, 0]),
    "sorted rows": (sorted_rows, lambda texels: texels[..., 0]),
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
    """8 + 4 + 2 + 1 in 3 rows; k and k² for k = 5 … 1; 4 steps of 2·16; 10 of 16."""
    expected = {"maximum": 45, "factors": 15 + 55, "prefix sums": 128, "sorted rows": 160}
    plan, _, _ = ALGORITHMS[name][0]()
    counts = count_plan(plan)
    assert counts.fragments == expected[name]
    assert counts.copy_bytes == 2 * 4 * expected[name]
    assert counts == count_plan(expand(plan))
