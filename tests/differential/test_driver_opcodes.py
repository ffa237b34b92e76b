"""Every opcode against the GL driver's own ARB_fragment_program.

Where an operation is exact in float32, the numpy machine and the driver have to agree exactly (save
for the sign of zero). Where the driver departs from the specification, departures.py names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from departures import DEPARTURES, Departure, driver_of
from drawing import F32, draw, draw_all, program
from driver_programs import UNDEFINED, batched, joined
from instructions import MASKS, Writer

from gpgpu_legacy.isa.opcodes import ARBFP, Form, Opcode
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.plan.textures import RGBA32F
from gpgpu_legacy.runtime.executor import Executor

pytestmark = pytest.mark.gl

Ready = Callable[[str], Executor]


@pytest.fixture(scope="module")
def driver(ready: Ready) -> Executor:
    return ready("gl-arbfp")


def name(row: Opcode) -> str:
    return row.mnemonic


# Every opcode × mask × swizzle × sign × _SAT --------------------------------------------------

# Dyadic numbers, so that sums and products are exact in whatever order.
GENERAL = np.array(
    [
        [[-1.5, 0.25, 2.0, 0.5], [3.0, -0.75, 0.0, 1.0], [0.125, 4.0, -2.5, -1.0]],
        [[0.5, 1.75, -3.0, 8.0], [-0.25, 0.5, 1.0, -2.0], [6.0, -0.5, 0.375, 1.5]],
        [[2.0, 3.0, -1.0, 0.25], [0.0, -4.0, 1.25, 2.0], [-6.5, 1.0, 0.5, -0.125]],
    ],
    np.float32,
)
DEFAULT = (GENERAL, GENERAL[::-1, ::-1], GENERAL.transpose(1, 0, 2))


def of(*numbers: float) -> F32:
    """Operands that are exact in an opcode, in any component."""
    return np.resize(np.array(numbers, np.float32), GENERAL.shape)


OPERANDS: dict[str, tuple[F32, ...]] = {
    "COS": (of(0),),
    "EX2": (of(0, 2, -3, 1, 4, -1, 3),),
    "LG2": (of(1, 2, 0.25, 8, 0.5, 16, 4),),
    "LIT": (of(1, 2, 4, 2, 4, 1, 4),),
    "POW": (of(1, 2, 0.25, 8, 0.5, 4, 16), of(0, 2, -3, 1, 4, -1, 3)),
    "RCP": (of(1, 2, -0.25, 8, 0.5, -16, 4),),
    "RSQ": (of(1, 4, -0.25, 16, 64, -1, 4),),
    "SCS": (of(0),),
    "SIN": (of(0),),
    "TXP": (of(1, 2, 4, 1, 4, 2, 4),),
}
TEXELS = np.arange(80, dtype=np.float32).reshape(4, 5, 4) - 40


BEFORE = (
    "TEX A, fragment.position, texture[0], RECT;",
    "TEX B, fragment.position, texture[1], RECT;",
    "TEX C, fragment.position, texture[2], RECT;",
    "MOV R, {-7, 0.75, 99, 0.125};",  # a background that shows what an instruction leaves alone
)


def one_each(lines: Sequence[str]) -> list[Program]:
    """For each instruction a program that shows what it makes of A, B and C in R."""
    whole = program(*BEFORE, *lines, "MOV result.color, R;", temporaries="TEMP A, B, C, R;")
    *instructions, last = whole.instructions
    first = tuple(instructions[: len(BEFORE)])
    return [
        replace(whole, instructions=(*first, instruction, last))
        for instruction in instructions[len(BEFORE) :]
    ]


def textures_for(row: Opcode) -> dict[int, F32]:
    operands = (*OPERANDS.get(row.mnemonic, ()), *DEFAULT)
    return {0: operands[0], 1: operands[1], 2: operands[2], 3: TEXELS}


def defined(row: Opcode, mask: list[int]) -> list[int]:
    """The components of R that an instruction with that mask leaves with a defined value."""
    undefined = UNDEFINED.get(row.mnemonic, ())
    return [c for c in range(4) if c not in mask or c not in undefined]


@pytest.mark.parametrize("row", [r for r in ARBFP.values() if r.form is not Form.KILL], ids=name)
def test_every_mask_swizzle_sign_and_saturation(driver: Executor, row: Opcode) -> None:
    writer, misses = Writer(row, "ABC"), driver_of(driver).misses
    written = [
        (mask, writer.instruction(mask, "R", saturate=saturate))
        for mask in MASKS
        for saturate in (False, True)
    ]
    textures, size = textures_for(row), (3, 3)
    programs = one_each([instruction for _, instruction in written])
    found = [
        values
        for part in batched(programs)
        for values in draw_all(
            *(joined(part), size),
            textures=textures,
            targets=(RGBA32F,) * len(part),
            executor=driver,
        )
    ]
    for (mask, instruction), alone, values in zip(written, programs, found, strict=True):
        kept = defined(row, mask)
        expected = draw(alone, size, textures=textures)
        relative, absolute = misses.get(row.mnemonic, (0.0, 0.0))
        np.testing.assert_allclose(
            *(values[..., kept], expected[..., kept], relative, absolute), err_msg=instruction
        )


def test_kil_with_every_swizzle(driver: Executor) -> None:
    """KIL discards where any picked component is below 0: neither at 0, nor at -0, nor at NaN."""
    operand = GENERAL.copy()
    operand[0, 0], operand[1, 1] = (-0.0, np.nan, 0.0, np.nan), (np.nan, -1.0, 0.0, -0.0)
    for letters in list(product(range(4), repeat=4))[::5]:
        for sign in ("", "-"):
            picked = "".join("xyzw"[c] for c in letters)
            text = program(
                "TEX A, fragment.position, texture[0], RECT;",
                f"KIL {sign}A.{picked};",
                "MOV result.color, 7;",
                temporaries="TEMP A;",
            )
            values = (-operand if sign else operand)[..., list(letters)]
            expected = np.where((values < 0).any(axis=2), 0.0, 7.0)
            for executor in (driver, None):
                found = draw(text, (3, 3), textures={0: operand}, executor=executor)
                np.testing.assert_array_equal(found[..., 0], expected, f"{sign}A.{picked}")


# Where drivers depart from the specification ---------------------------------------------------


@pytest.mark.parametrize("departure", DEPARTURES, ids=lambda departure: departure.name)
def test_departures_of_drivers(driver: Executor, departure: Departure) -> None:
    (first, *_) = BEFORE
    text = program(first, *departure.lines, temporaries="TEMP A, R;")
    textures = {0: np.array([[departure.operand]], np.float32)}
    by_machine = draw(text, (1, 1), textures=textures)[0, 0, 0]
    np.testing.assert_array_equal(by_machine, np.float32(departure.specified))
    by_driver = draw(text, (1, 1), textures=textures, executor=driver)[0, 0, 0]
    known = np.float32(departure.known(driver_of(driver)))
    assert any(np.array_equal(by_driver, value, equal_nan=True) for value in known)


@pytest.mark.parametrize("name", ["gl-raster", "gl-compute"])
def test_products_that_a_compiler_folds(ready: Ready, name: str) -> None:
    """Infinity times a constant 0: NaN in an exact run. Beside an LG2 no run is exact, and GLSL
    lets a driver give a number.
    """
    executor, infinity = ready(name), {0: np.full((1, 1, 4), np.inf, np.float32)}
    for last, among in (("MOV B.w, A.x;", (np.nan,)), ("LG2 B.w, A.x;", (np.nan, 0.0))):
        text = program(BEFORE[0], "MUL B.xyz, A, 0;", last, "MOV result.color, B;",
                       temporaries="TEMP A, B;")  # fmt: skip
        [[found]] = draw(text, (1, 1), textures=infinity, executor=executor)
        assert any(np.array_equal(found, (each,) * 3 + (np.inf,), equal_nan=True) for each in among)
