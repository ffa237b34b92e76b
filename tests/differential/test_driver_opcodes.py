"""Every opcode against the GL driver's own ARB_fragment_program.

Where an operation is exact in float32, the numpy machine and the driver have to agree exactly (save
for the sign of zero). Where it is an approximation, both are held to a bound of their own against
float64. Where the driver departs from the specification, it is by name, in departures.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from departures import DEPARTURES, LLVMPIPE, SPEC, Departure, driver_of
from drawing import F32, draw, draw_all, program
from driver_programs import UNDEFINED, batched, joined
from instructions import MASKS, Writer

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.isa.opcodes import ARBFP, Form, Opcode, OperandKind
from gpgpu_legacy.languages.arb.parser import assemble
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


# Accuracy -------------------------------------------------------------------------------------

HALF_ULP = 2.0**-24


def uniform(low: float, high: float) -> Callable[[np.random.Generator], F32]:
    return lambda random: random.uniform(low, high, (SIDE, SIDE, 4)).astype(np.float32)


def magnitudes(low: int, high: int, *, signed: bool) -> Callable[[np.random.Generator], F32]:
    """Numbers of magnitudes between two powers of two, as many of each."""

    def make(random: np.random.Generator) -> F32:
        sign = random.choice((-1.0, 1.0), (SIDE, SIDE, 4)) if signed else 1.0
        return (sign * np.exp2(random.uniform(low, high, (SIDE, SIDE, 4)))).astype(np.float32)

    return make


SIDE = 64
WIDE = magnitudes(-30, 30, signed=True)
NARROW = uniform(-4.0, 4.0)
POSITIVE = magnitudes(-30, 30, signed=False)


def terms(*summands: Any) -> Any:
    """What the error of a sum is relative to: the sum of its terms' magnitudes."""
    return sum(np.abs(summand) for summand in summands)


@dataclass(frozen=True)
class Accuracy:
    """How far an opcode's result may be from `exact` in float64, in units of `scale`.

    machine, driver: the bounds; departures.py has what was measured over these operands.
    """

    operands: tuple[Callable[[np.random.Generator], F32], ...]
    exact: Callable[..., Any]
    machine: float
    driver: float
    scale: Callable[..., Any] | None = None  # the magnitude of the exact result, if not given


def absolute(*_: Any) -> Any:
    return 1.0


def lit(a: Any) -> Any:
    x, y, w = np.maximum(a[..., 0], 0), np.maximum(a[..., 1], 0), np.clip(a[..., 3], -128, 128)
    return np.stack([x**0, x, np.where(x > 0, y**w, 0), x**0], axis=-1)


def dot(components: int) -> Callable[[Any, Any], Any]:
    return lambda a, b: (a * b)[..., :components].sum(axis=-1, keepdims=True)


def dot_scale(components: int) -> Callable[[Any, Any], Any]:
    return lambda a, b: np.abs(a * b)[..., :components].sum(axis=-1, keepdims=True)


def homogeneous(a: Any, b: Any) -> Any:
    return dot(3)(a, b) + b[..., 3:]


def cross(a: Any, b: Any) -> Any:
    return np.cross(a[..., :3], b[..., :3])


def cross_scale(a: Any, b: Any) -> Any:
    y, z, x = (np.abs(np.roll(a[..., :3], -n, axis=-1)) for n in (1, 2, 0))
    q, r, p = (np.abs(np.roll(b[..., :3], -n, axis=-1)) for n in (1, 2, 0))
    return y * r + z * q + 0 * x * p


ACCURACY: dict[str, Accuracy] = {
    "ADD": Accuracy((WIDE, WIDE), lambda a, b: a + b, HALF_ULP, HALF_ULP),
    "SUB": Accuracy((WIDE, WIDE), lambda a, b: a - b, HALF_ULP, HALF_ULP),
    "MUL": Accuracy((WIDE, WIDE), lambda a, b: a * b, HALF_ULP, HALF_ULP),
    "MAD": Accuracy(
        (NARROW, NARROW, NARROW), lambda a, b, c: a * b + c, 2 * HALF_ULP, 2 * HALF_ULP,
        lambda a, b, c: terms(a * b, c),
    ),
    "LRP": Accuracy(
        (uniform(0, 1), NARROW, NARROW), lambda a, b, c: a * b + (1 - a) * c,
        3 * HALF_ULP, 4 * HALF_ULP, lambda a, b, c: terms(b, c),
    ),
    "DP3": Accuracy((NARROW, NARROW), dot(3), 3 * HALF_ULP, 3 * HALF_ULP, dot_scale(3)),
    "DP4": Accuracy((NARROW, NARROW), dot(4), 4 * HALF_ULP, 4 * HALF_ULP, dot_scale(4)),
    "DPH": Accuracy(
        (NARROW, NARROW), homogeneous, 4 * HALF_ULP, 4 * HALF_ULP,
        lambda a, b: dot_scale(3)(a, b) + np.abs(b[..., 3:]),
    ),
    "XPD": Accuracy((NARROW, NARROW), cross, 2 * HALF_ULP, 2 * HALF_ULP, cross_scale),
    "FRC": Accuracy((NARROW,), lambda a: a - np.floor(a), HALF_ULP, HALF_ULP, absolute),
    "RCP": Accuracy((WIDE,), lambda a: 1 / a[..., :1], HALF_ULP, 2.0**-23),
    "RSQ": Accuracy((WIDE,), lambda a: 1 / np.sqrt(np.abs(a[..., :1])), 2.0**-23, 2.0**-22),
    "EX2": Accuracy((uniform(-20, 20),), lambda a: np.exp2(a[..., :1]), 2.0**-23, 4e-7),
    "LG2": Accuracy(
        (POSITIVE,), lambda a: np.log2(a[..., :1]), 2.0**-23, 2.0**-21,
        lambda a: np.maximum(np.abs(np.log2(a[..., :1])), 1),
    ),
    "POW": Accuracy(
        (magnitudes(-4, 4, signed=False), uniform(-4, 4)),
        lambda a, b: a[..., :1] ** b[..., :1], 2.0**-22, SPEC,
    ),
    "COS": Accuracy(
        (uniform(-10, 10),), lambda a: np.cos(a[..., :1]), 2e-7, SPEC, absolute
    ),
    "SIN": Accuracy(
        (uniform(-10, 10),), lambda a: np.sin(a[..., :1]), 2e-7, SPEC, absolute
    ),
    "SCS": Accuracy(
        (uniform(-3.14, 3.14),),
        lambda a: np.stack([np.cos(a[..., 0]), np.sin(a[..., 0])], axis=-1),
        2e-7, SPEC, absolute,
    ),
    "LIT": Accuracy((uniform(0.01, 4),), lit, 2.0**-22, SPEC),
    "DST": Accuracy(
        (WIDE, WIDE),
        lambda a, b: np.stack([a[..., 0] * 0 + 1, (a * b)[..., 1], a[..., 2], b[..., 3]], axis=-1),
        HALF_ULP, HALF_ULP,
    ),
}  # fmt: skip


def worst_error(row: Opcode, executor: Executor | None) -> float:
    """The largest error over random operands, in units of the row's scale."""
    accuracy, random = ACCURACY[row.mnemonic], np.random.default_rng(5)
    operands = [make(random) for make in accuracy.operands]
    scalar = [kind is OperandKind.SCALAR for kind in row.shape.value[1:]]
    sources = [f"{r}{'.x' * s}" for r, s in zip("ABC", scalar, strict=False)]
    (text,) = one_each([f"{row.mnemonic} R, {', '.join(sources)};"])
    textures = dict.fromkeys(range(3), TEXELS) | dict(enumerate(operands))
    found = draw(text, (SIDE, SIDE), textures=textures, executor=executor)
    wide = [operand.astype(np.float64) for operand in operands]
    exact = accuracy.exact(*wide)
    scale = np.abs(exact) if accuracy.scale is None else accuracy.scale(*wide)
    difference = np.abs(found[..., : max(exact.shape[-1], 1)] - exact)
    return float(np.max(difference / np.where(scale == 0, 1, scale)))


@pytest.mark.parametrize("mnemonic", ACCURACY)
def test_accuracy_of_single_operations(driver: Executor, mnemonic: str) -> None:
    row, accuracy = ARBFP[mnemonic], ACCURACY[mnemonic]
    assert worst_error(row, None) <= accuracy.machine
    worst = worst_error(row, driver)
    assert worst <= accuracy.driver
    assert worst <= driver_of(driver).accuracy.get(mnemonic, accuracy.driver)


def test_every_opcode_that_rounds_has_an_accuracy() -> None:
    """The others copy, compare, clamp or look up: the test above holds them to equality."""
    copying = {"ABS", "CMP", "FLR", "KIL", "MAX", "MIN", "MOV", "SGE", "SLT", "SWZ"}
    lookups = {row.mnemonic for row in ARBFP.values() if row.form is Form.SAMPLE}
    assert set(ARBFP) == copying | lookups | set(ACCURACY)


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


ABORTING = """!!ARBfp1.0
PARAM p[] = { program.env[5..2], 1 };
MOV result.color, p[0];
END
"""
CHILD = """
import sys
from gpgpu_legacy.runtime.gl.compatibility import context
from gpgpu_legacy.runtime.gl.arb_programs import LoadedProgram
from gpgpu_legacy.runtime.gl.headers import GL
with context().current():
    loaded = LoadedProgram(context(), GL.FRAGMENT_PROGRAM, sys.stdin.read(), "the program")
print("loaded")
"""


def test_a_reversed_range_that_aborts_mesa(driver: Executor) -> None:
    """3.11.3.2: such a program fails to load. Mesa aborts the process, so it is a child's."""
    with pytest.raises(AssemblyError, match=r"5\.\.2"):
        assemble(ABORTING)
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=ABORTING, capture_output=True, text=True, check=False
    )
    if driver_of(driver) is LLVMPIPE:
        assert child.returncode != 0
        assert "loaded" not in child.stdout
