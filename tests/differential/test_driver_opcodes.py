"""Every opcode against the GL driver's own ARB_fragment_program.

Where an operation is exact in float32, the numpy machine and the driver have to agree exactly (save
for the sign of zero). Where it is an approximation, both are held to a bound of their own against
float64. Where the driver departs from the specification, it is by name, below.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, product
from random import Random
from typing import Any

import numpy as np
import pytest
from drawing import F32, draw, draw_all, program
from driver_programs import UNDEFINED, batched, joined

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode, Operand
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.formats import RGBA32F
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
UNSIGNED = {"LG2", "POW", "TXP"}  # a negative first operand is left open by the specification

LETTERS = ("xyzw", "rgba")
MASKS = [[c for c in range(4) if bits >> c & 1] for bits in range(1, 16)]
TEXELS = np.arange(80, dtype=np.float32).reshape(4, 5, 4) - 40


class Writer:
    """Instructions of one opcode on the registers A, B and C into R, as text.

    One after the other its vector operands have all 256 swizzles, in an order of the opcode's own.
    """

    def __init__(self, row: Opcode) -> None:
        self.row = row
        self.random = Random(row.mnemonic)
        order = self.random.sample(list(product(range(4), repeat=4)), 256)
        self.swizzles = cycle(order)

    def instruction(self, mask: list[int], *, saturate: bool) -> str:
        operands, sources = list[str](), iter("ABC")
        for kind in self.row.shape.value:
            match kind:
                case Operand.DESTINATION:
                    operands.append(f"R.{self.letters(mask)}" if len(mask) < 4 else "R")
                case Operand.VECTOR:
                    picked = self.letters(list(next(self.swizzles)))
                    suffix = picked[0] if len(set(picked)) == 1 else picked
                    operands.append(f"{self.sign(first=not operands[1:])}{next(sources)}.{suffix}")
                case Operand.SCALAR:
                    suffix = self.letters([self.random.randrange(4)])
                    operands.append(f"{self.sign(first=not operands[1:])}{next(sources)}.{suffix}")
                case Operand.REGISTER:
                    operands.append(next(sources))
                case Operand.EXTENDED_SWIZZLE:
                    letters = self.random.choice(LETTERS) + "01"
                    operands += [
                        self.random.choice(("", "-", "+")) + self.random.choice(letters)
                        for _ in range(4)
                    ]
                case Operand.TEXTURE_UNIT:
                    operands.append("texture[3]")
                case Operand.TEXTURE_TARGET:
                    operands.append("RECT")
        return f"{self.row.mnemonic}{'_SAT' * saturate} {', '.join(operands)};"

    def letters(self, components: list[int]) -> str:
        alphabet = self.random.choice(LETTERS)
        return "".join(alphabet[c] for c in components)

    def sign(self, *, first: bool) -> str:
        if first and self.row.mnemonic in UNSIGNED:
            return ""
        return self.random.choice(("", "-", "+"))


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


@pytest.mark.parametrize("row", [r for r in OPCODES.values() if r.form is not Form.KILL], ids=name)
def test_every_mask_swizzle_sign_and_saturation(driver: Executor, row: Opcode) -> None:
    writer = Writer(row)
    written = [
        (mask, writer.instruction(mask, saturate=saturate))
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
        np.testing.assert_array_equal(values[..., kept], expected[..., kept], instruction)


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
SPEC = 1e-5  # GL 2.1, section 2.1.1: "accurate to about 1 part in 10^5"


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

    machine, driver: the bounds. measured: the worst of llvmpipe (Mesa 22.3.6) over these operands.
    """

    operands: tuple[Callable[[np.random.Generator], F32], ...]
    exact: Callable[..., Any]
    machine: float
    driver: float
    measured: float
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
    "ADD": Accuracy((WIDE, WIDE), lambda a, b: a + b, HALF_ULP, HALF_ULP, 5.97e-8),
    "SUB": Accuracy((WIDE, WIDE), lambda a, b: a - b, HALF_ULP, HALF_ULP, 5.97e-8),
    "MUL": Accuracy((WIDE, WIDE), lambda a, b: a * b, HALF_ULP, HALF_ULP, 5.97e-8),
    "MAD": Accuracy(
        (NARROW, NARROW, NARROW), lambda a, b, c: a * b + c, 2 * HALF_ULP, 2 * HALF_ULP, 1.04e-7,
        lambda a, b, c: terms(a * b, c),
    ),
    "LRP": Accuracy(
        (uniform(0, 1), NARROW, NARROW), lambda a, b, c: a * b + (1 - a) * c,
        3 * HALF_ULP, 4 * HALF_ULP, 1.2e-7, lambda a, b, c: terms(b, c),
    ),
    "DP3": Accuracy((NARROW, NARROW), dot(3), 3 * HALF_ULP, 3 * HALF_ULP, 1.2e-7, dot_scale(3)),
    "DP4": Accuracy((NARROW, NARROW), dot(4), 4 * HALF_ULP, 4 * HALF_ULP, 1.4e-7, dot_scale(4)),
    "DPH": Accuracy(
        (NARROW, NARROW), homogeneous, 4 * HALF_ULP, 4 * HALF_ULP, 1.6e-7,
        lambda a, b: dot_scale(3)(a, b) + np.abs(b[..., 3:]),
    ),
    "XPD": Accuracy((NARROW, NARROW), cross, 2 * HALF_ULP, 2 * HALF_ULP, 1.1e-7, cross_scale),
    "FRC": Accuracy((NARROW,), lambda a: a - np.floor(a), HALF_ULP, HALF_ULP, 3e-8, absolute),
    "RCP": Accuracy((WIDE,), lambda a: 1 / a[..., :1], HALF_ULP, 2.0**-23, 5.8e-8),
    "RSQ": Accuracy((WIDE,), lambda a: 1 / np.sqrt(np.abs(a[..., :1])), 2.0**-23, 2.0**-22, 8.9e-8),
    "EX2": Accuracy((uniform(-20, 20),), lambda a: np.exp2(a[..., :1]), 2.0**-23, 4e-7, 2.6e-7),
    "LG2": Accuracy(
        (POSITIVE,), lambda a: np.log2(a[..., :1]), 2.0**-23, 2.0**-21, 1.3e-7,
        lambda a: np.maximum(np.abs(np.log2(a[..., :1])), 1),
    ),
    "POW": Accuracy(
        (magnitudes(-4, 4, signed=False), uniform(-4, 4)),
        lambda a, b: a[..., :1] ** b[..., :1], 2.0**-22, SPEC, 7.4e-7,
    ),
    "COS": Accuracy(
        (uniform(-10, 10),), lambda a: np.cos(a[..., :1]), 2e-7, 1e-6, 6.6e-8, absolute
    ),
    "SIN": Accuracy(
        (uniform(-10, 10),), lambda a: np.sin(a[..., :1]), 2e-7, 1e-6, 6.5e-8, absolute
    ),
    "SCS": Accuracy(
        (uniform(-3.14, 3.14),),
        lambda a: np.stack([np.cos(a[..., 0]), np.sin(a[..., 0])], axis=-1),
        2e-7, 1e-6, 7.1e-8, absolute,
    ),
    "LIT": Accuracy((uniform(0.01, 4),), lit, 2.0**-22, SPEC, 9.3e-7),
    "DST": Accuracy(
        (WIDE, WIDE),
        lambda a, b: np.stack([a[..., 0] * 0 + 1, (a * b)[..., 1], a[..., 2], b[..., 3]], axis=-1),
        HALF_ULP, HALF_ULP, 5.97e-8,
    ),
}  # fmt: skip


def worst_error(row: Opcode, executor: Executor | None) -> float:
    """The largest error over random operands, in units of the row's scale."""
    accuracy, random = ACCURACY[row.mnemonic], np.random.default_rng(5)
    operands = [make(random) for make in accuracy.operands]
    scalar = [kind is Operand.SCALAR for kind in row.shape.value[1:]]
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
    row, accuracy = OPCODES[mnemonic], ACCURACY[mnemonic]
    assert worst_error(row, None) <= accuracy.machine
    worst = worst_error(row, driver)
    assert worst <= accuracy.driver
    if "llvmpipe" in driver.device():
        assert worst <= accuracy.measured


def test_every_opcode_that_rounds_has_an_accuracy() -> None:
    """The others copy, compare, clamp or look up: the test above holds them to equality."""
    copying = {"ABS", "CMP", "FLR", "KIL", "MAX", "MIN", "MOV", "SGE", "SLT", "SWZ"}
    lookups = {row.mnemonic for row in OPCODES.values() if row.form is Form.SAMPLE}
    assert set(OPCODES) == copying | lookups | set(ACCURACY)


# Where Mesa departs from the specification ------------------------------------------------------


@dataclass(frozen=True)
class Departure:
    """A program on the register A, and what result.color.x is by the specification and in Mesa.

    The specification wins: the numpy machine gives its value. A driver may give the one or the
    other, since a later version of Mesa may mend it.
    """

    name: str
    lines: tuple[str, ...]
    operand: tuple[float, float, float, float]
    specified: float
    mesa: float


NAN, INF, TINY = float("nan"), float("inf"), float(np.float32(1e-40))
HUGE = 16777216.0  # 2^24, from where on float32 has no odd numbers

DEPARTURES = (
    Departure(
        "a product of two components of one register, one of them negated, is taken to be negative",
        ("MUL R.x, -A.x, A.y;", "CMP result.color, -R.x, 3, 4;"), (2, -3, 0, 0), 3, 4,
    ),
    Departure("SWZ of a scalar constant that is part of another: it swizzles the other",
        ("MUL R, A, {5, 6, 7, 8};", "SWZ result.color, 6, x, y, z, w;"), (1, 0, 0, 0), 6, 5),
    Departure("0^0 in LIT", ("LIT R, A;", "MOV result.color, R.z;"), (1, 0, 0, 0), 1, 0),
    Departure("LIT of 0 to a negative power", ("LIT R, A;", "MOV result.color, R.z;"),
        (1, 0, 0, -2), INF, 0),
    Departure("POW of 0 to a negative power", ("POW result.color, A.x, A.y;",), (0, -1, 0, 0),
        INF, 0),
    Departure("0^0 in POW", ("POW result.color, A.x, A.y;",), (0, 0, 0, 0), 1, 0),
    Departure("LRP is c + a·(b - c), so that a factor of 1 need not give b",
        ("LRP result.color, A.x, A.y, A.z;",), (1, 1, 1e30, 0), 1, 0),
    Departure("FRC of a tiny negative number is 1, outside [0, 1)", ("FRC result.color, A;",),
        (-1e-10, 0, 0, 0), float(np.float32(1) - np.float32(2**-24)), 1),
    Departure("sums are reassociated over instructions",
        ("ADD R, A, 16777216;", "SUB result.color, R, 16777216;"), (1, 0, 0, 0), 0, 1),
    Departure("x + y - y is x", ("ADD R, A, A.y;", "SUB result.color, R, A.y;"), (1, HUGE, 0, 0),
        0, 1),
    Departure("products are reassociated over instructions, and so overflow",
        ("MUL R, A, 1e30;", "MUL result.color, R, 1e30;"), (1e-30, 0, 0, 0),
        float(np.float32(1e-30) * np.float32(1e30) * np.float32(1e30)), INF),
    Departure("x - x is 0 for an infinity too", ("SUB result.color, A, A;",), (INF, 0, 0, 0),
        NAN, 0),
    Departure("arithmetic flushes denormals", ("ADD result.color, A.x, A.y;",),
        (TINY, TINY, 0, 0), float(np.float32(TINY) + np.float32(TINY)), 0),
    Departure("a denormal is not below 0", ("CMP result.color, A, 1, 2;",), (-TINY, 0, 0, 0), 1, 2),
    Departure("RCP of 2^127, a denormal", ("RCP result.color, A.x;",), (2.0**127, 0, 0, 0),
        2.0**-127, 0),
    Departure("EX2 of -127, a denormal", ("EX2 result.color, A.x;",), (-127, 0, 0, 0),
        2.0**-127, 0),
    Departure("MAX gives the operand that is no NaN", ("MAX result.color, A.x, A.y;",),
        (1, NAN, 0, 0), NAN, 1),
    Departure("MIN gives the operand that is no NaN", ("MIN result.color, A.x, A.y;",),
        (NAN, 1, 0, 0), NAN, 1),
)  # fmt: skip


@pytest.mark.parametrize("departure", DEPARTURES, ids=lambda departure: departure.name)
def test_departures_of_mesa(driver: Executor, departure: Departure) -> None:
    (first, *_) = BEFORE
    text = program(first, *departure.lines, temporaries="TEMP A, R;")
    textures = {0: np.array([[departure.operand]], np.float32)}
    specified, mesa = np.float32([departure.specified, departure.mesa])
    by_machine = draw(text, (1, 1), textures=textures)[0, 0, 0]
    np.testing.assert_array_equal(by_machine, specified)
    by_driver = draw(text, (1, 1), textures=textures, executor=driver)[0, 0, 0]
    assert any(np.array_equal(by_driver, one, equal_nan=True) for one in (specified, mesa))


ABORTING = """!!ARBfp1.0
PARAM p[] = { program.env[5..2], 1 };
MOV result.color, p[0];
END
"""
CHILD = """
import sys
from gpgpu_legacy.runtime.gl_arbfp_resources import program_resources
program_resources(sys.stdin.read())
print("loaded")
"""


def test_a_reversed_range_that_aborts_mesa(driver: Executor) -> None:
    """3.11.3.2: such a program fails to load. Mesa aborts the process, so it is a child's."""
    with pytest.raises(AssemblyError, match=r"5\.\.2"):
        assemble(ABORTING)
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=ABORTING, capture_output=True, text=True, check=False
    )
    if "llvmpipe" in driver.device():
        assert child.returncode != 0
        assert "loaded" not in child.stdout
