"""The sizes of tiles, against register demands worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from drawing import corners, program, texture

from gpgpu_legacy.ir.statements import Statement
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, fused_steps
from gpgpu_legacy.lower.analysis.register_tile import register_tile
from gpgpu_legacy.lower.fused.body import fused_body
from gpgpu_legacy.lower.fused.content import native_content
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan, Texcoords
from gpgpu_legacy.plan.textures import RGBA32F, Rect

SIDE = 8
X = (1.0, 0.0, 0.0, 0.0)
Y = (0.0, 1.0, 0.0, 0.0)
FLAT = (0.0, 0.0, 0.0, 0.0)
COLUMN = Texcoords(0, corners((0.5, 0.0, 0.0, 1.0), FLAT, Y, SIDE, SIDE))  # varies along y
ROW = Texcoords(1, corners((0.0, 0.5, 0.0, 1.0), X, FLAT, SIDE, SIDE))  # varies along x
OWN = Texcoords(2, corners((0.0, 0.0, 0.0, 1.0), X, Y, SIDE, SIDE))


def statements_of(plan: Plan) -> tuple[FusedPasses, tuple[Statement, ...]]:
    fused = next(step for step in fused_steps(plan) if isinstance(step, FusedPasses))
    content, _ = native_content(fused, {each.name: each for each in plan.textures})
    return fused, fused_body(content, as_level=True)


def tile_of(lines: Sequence[str], registers: int, carried: int = 0) -> tuple[int, int]:
    each = FragmentPass(program(*lines), (Binding(0, "A"),), ("P",), Rect(0, 0, SIDE, SIDE),
                        (COLUMN, ROW, OWN))  # fmt: skip
    textures = (texture("P", SIDE, SIDE, RGBA32F), texture("A", SIDE, SIDE, RGBA32F))
    _, statements = statements_of(Plan("tiles", (), (), textures, (), (each,), ()))
    return register_tile(statements, carried, registers)


PRODUCT = [
    "TEX R1.x, fragment.texcoord[0], texture[0], RECT;",
    "TEX R2.x, fragment.texcoord[1], texture[0], RECT;",
    "MUL R0.x, R1.x, R2.x;",
    "MOV result.color, R0.x;",
]


@pytest.mark.parametrize(
    ("registers", "tile"),
    [
        # Carried goes one number a fragment, and the product is another. Besides them are alive the
        # row's number of each vector and one of the column's at a time: a tile takes
        # 2·rows·vectors + vectors + 1 registers, and loads rows + vectors numbers.
        (3, (1, 1)),
        (6, (2, 1)),  # 3/2 numbers loaded a fragment, as in 1 row of 2, which takes 7
        (8, (3, 1)),  # 4/3
        (11, (2, 2)),  # 1
        (15, (3, 2)),  # 5/6
        (16, (3, 2)),
        (32, (4, 3)),  # 7/12, as in 3 rows of 4, which take 29; this takes 28
        (40, (4, 4)),  # 1/2
        (999, (8, 4)),  # there are no more
    ],
)
def test_a_product_of_a_column_and_a_row(registers: int, tile: tuple[int, int]) -> None:
    assert tile_of(PRODUCT, registers, carried=1) == tile


def test_what_shares_nothing_is_two_vectors_of_one_row() -> None:
    lines = ["TEX R0, fragment.texcoord[2], texture[0], RECT;", "MOV result.color, R0;"]
    assert tile_of(lines, 999) == (1, 2)
