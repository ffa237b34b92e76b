"""The opcode table against the specification, row by row; what is expected is written by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpgpu_legacy.isa import opcodes
from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.isa.expressions import Expression, Read, Variable, component, compose
from gpgpu_legacy.isa.opcodes import ARBFP, CostClass, Form, Opcode
from gpgpu_legacy.isa.statements import walk
from gpgpu_legacy.isa.types import Kind, Type
from gpgpu_legacy.languages.arb.syntax import words_of

NAN, INF = float("nan"), float("inf")
TINY = 2.0**-149  # the least denormal
HUGE = float(np.finfo(np.float32).max)
Four = tuple[float, float, float, float]
BELOW_ONE = 1 - 2.0**-24


# By the rules of the grammar in section 3.11.2. Sections count on in the order of the alphabet.
SHAPES = {
    opcodes.VECTOR_OP: "ABS FLR FRC LIT MOV",
    opcodes.SCALAR_OP: "COS EX2 LG2 RCP RSQ SCS SIN",
    opcodes.BINARY_SCALAR_OP: "POW",
    opcodes.BINARY_OP: "ADD DP3 DP4 DPH DST MAX MIN MUL SGE SLT SUB XPD",
    opcodes.TERNARY_OP: "CMP LRP MAD",
    opcodes.SWIZZLE_OP: "SWZ",
    opcodes.SAMPLE_OP: "TEX TXB TXP",
    opcodes.KILL_OP: "KIL",
}
LOOKUPS = ("TEX", "TXP", "TXB")

EVERY_KIND = (0.0, -0.0, 1.5, -HUGE, TINY, -TINY, INF, -INF, NAN)

# Sources of one component and the result of that component.
COMPONENTS: dict[str, list[tuple[tuple[float, ...], float]]] = {
    "MOV": [((v,), v) for v in EVERY_KIND],
    "SWZ": [((v,), v) for v in EVERY_KIND],
    "ABS": [((v,), abs(v)) for v in EVERY_KIND],
    "FLR": [
        ((2.3,), 2.0), ((-3.6,), -4.0),  # the spec's own
        ((-0.0,), -0.0), ((-TINY,), -1.0), ((8388607.5,), 8388607.0), ((-INF,), -INF),
    ],
    "FRC": [
        ((-1.75,), 0.25), ((5.0,), 0.0), ((HUGE,), 0.0), ((-TINY,), BELOW_ONE),
        ((-(2.0**-23),), 1 - 2.0**-23), ((INF,), NAN),
    ],
    "ADD": [
        ((-0.0, -0.0), -0.0), ((3.0, -3.0), 0.0), ((TINY, TINY), 2 * TINY),
        ((2.0**24, 1.0), 2.0**24),  # a tie, to even
        ((HUGE, HUGE), INF), ((INF, -INF), NAN),
    ],
    "SUB": [((1.0, 2.0), -1.0), ((-0.0, 0.0), -0.0), ((2.0**24, -1.0), 2.0**24), ((INF, INF), NAN)],
    "MUL": [
        ((3.0, -2.0), -6.0), ((0.0, -5.0), -0.0), ((TINY, 0.5), 0.0), ((-TINY, 0.75), -TINY),
        ((HUGE, -2.0), -INF), ((INF, 0.0), NAN),
    ],
    "MAD": [
        ((2.0, 3.0, 4.0), 10.0), ((0.0, -1.0, -0.0), -0.0),
        # (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 exactly; with the product rounded first, 0.
        ((1 + 2.0**-12, 1 + 2.0**-12, -1 - 2.0**-11), 0.0),
        ((HUGE, 2.0, -INF), NAN),  # the product overflows before the sum
    ],
    "LRP": [
        ((0.25, 8.0, 4.0), 5.0), ((2.0, 3.0, 5.0), 1.0),
        # A factor of 1 gives the second operand and 0 the third, to the last bit.
        ((1.0, HUGE, -HUGE), HUGE), ((0.0, 1e30, 0.1), float(np.float32(0.1))),
        ((1.0, 1.0, INF), NAN),
    ],
    "CMP": [
        ((-TINY, 2.0, 3.0), 2.0), ((-0.0, 2.0, 3.0), 3.0), ((NAN, 2.0, 3.0), 3.0),
        ((-1.0, 2.0, NAN), 2.0),
    ],
    "MAX": [  # a > b ? a : b, to the letter: equals and NaN give the second
        ((1.0, 2.0), 2.0), ((2.0, 1.0), 2.0), ((0.0, -0.0), -0.0), ((NAN, 1.0), 1.0),
        ((1.0, NAN), NAN),
    ],
    "MIN": [  # a > b ? b : a: equals and NaN give the first
        ((1.0, 2.0), 1.0), ((2.0, 1.0), 1.0), ((0.0, -0.0), 0.0), ((NAN, 1.0), NAN),
        ((1.0, NAN), 1.0),
    ],
    "SGE": [((1.0, 2.0), 0.0), ((2.0, 1.0), 1.0), ((-0.0, 0.0), 1.0), ((NAN, 1.0), 0.0)],
    "SLT": [((1.0, 2.0), 1.0), ((2.0, 1.0), 0.0), ((-0.0, 0.0), 0.0), ((1.0, NAN), 0.0)],
    "RCP": [((4.0,), 0.25), ((-0.0,), -INF), ((INF,), 0.0), ((3.0,), float(np.float32(1 / 3)))],
    "RSQ": [((4.0,), 0.5), ((-4.0,), 0.5), ((-0.0,), INF), ((-INF,), 0.0)],
    "EX2": [((-1.0,), 0.5), ((128.0,), INF), ((-160.0,), 0.0), ((NAN,), NAN)],
    "LG2": [((0.125,), -3.0), ((0.0,), -INF), ((INF,), INF), ((-1.0,), NAN)],
    "POW": [
        ((9.0, 0.5), 3.0), ((2.0, -2.0), 0.25), ((0.0, -1.0), INF), ((0.0, 0.0), 1.0),
        ((-0.0, 3.0), 0.0),
        # The logarithm of a negative base has no value, whatever the exponent.
        ((-3.0, 2.0), NAN),
    ],
    "SIN": [((-0.0,), -0.0), ((INF,), NAN)],
    "COS": [((-0.0,), 1.0), ((INF,), NAN)],
}  # fmt: skip

# Sources of four components and the result's, of which None is undefined.
Result = tuple[float | None, float | None, float | None, float | None]
VECTORS: dict[str, list[tuple[tuple[Four, ...], Result]]] = {
    "DST": [
        (((9.0, 4.0, 4.0, 9.0), (9.0, 0.5, 9.0, 0.5)), (1.0, 2.0, 4.0, 0.5)),  # d = 2
        (((NAN, INF, -0.0, NAN), (NAN, 0.0, NAN, -3.0)), (1.0, NAN, -0.0, -3.0)),
    ],
    "XPD": [
        (((2.0, 3.0, 5.0, NAN), (7.0, 11.0, 13.0, NAN)), (-16.0, 9.0, 1.0, None)),
    ],
    "LIT": [
        (((0.5, 2.0, 9.0, 3.0),), (1.0, 0.5, 8.0, 1.0)),
        (((-1.0, 2.0, 9.0, 3.0),), (1.0, 0.0, 0.0, 1.0)),
        (((0.0, 2.0, 9.0, 3.0),), (1.0, 0.0, 0.0, 1.0)),  # not above 0: no highlight
        (((0.25, -2.0, 9.0, 3.0),), (1.0, 0.25, 0.0, 1.0)),
        (((1.0, -2.0, 9.0, 0.0),), (1.0, 1.0, 1.0, 1.0)),  # 0^0
        (((1.0, -0.0, 9.0, -1.0),), (1.0, 1.0, INF, 1.0)),
        (((NAN, 0.5, 9.0, 1.0),), (1.0, NAN, 0.0, 1.0)),
    ],
    "SCS": [
        (((0.0,) * 4,), (1.0, 0.0, None, None)),
        (((NAN,) * 4,), (NAN, NAN, None, None)),
    ],
}

KILLS: list[tuple[Four, bool]] = [
    ((-0.0,) * 4, False), ((NAN,) * 4, False), ((-1.0, 1.0, 1.0, 1.0), True),
    ((1.0, 1.0, -TINY, 1.0), True), ((1.0, 1.0, NAN, -INF), True),
]  # fmt: skip

COORDINATES: dict[str, list[tuple[Four, tuple[float, float, float]]]] = {
    "TEX": [((1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0))],
    "TXB": [((1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0))],
    "TXP": [((1.0, 2.0, 3.0, 4.0), (0.25, 0.5, 0.75)), ((1.0, 0.0, -2.0, 0.5), (2.0, 0.0, -4.0))],
}

ROWS = pytest.mark.parametrize("row", ARBFP.values(), ids=lambda row: row.mnemonic)


def test_a_row_says_what_the_specification_says() -> None:
    shapes = {name: shape for shape, names in SHAPES.items() for name in names.split()}
    assert {name: row.shape for name, row in ARBFP.items()} == shapes
    arithmetic = sorted(set(shapes) - {*LOOKUPS, "KIL"})
    sections = {name: f"3.11.5.{n}" for n, name in enumerate(arithmetic, 1)}
    sections |= {name: f"3.11.6.{n}" for n, name in enumerate((*LOOKUPS, "KIL"), 1)}
    assert {row.mnemonic: row.spec for row in ARBFP.values()} == sections
    costs = dict.fromkeys(arithmetic, CostClass.ARITHMETIC) | dict.fromkeys(
        LOOKUPS, CostClass.LOOKUP
    )
    assert {name: row.cost for name, row in ARBFP.items()} == {
        **costs,
        "KIL": CostClass.KILL,
    }


def test_the_meaning_of_every_row_is_written_down_here() -> None:
    dots = {name for name, *_ in DOT_PRODUCTS}
    assert set(COMPONENTS) | set(VECTORS) | dots | {"KIL"} | set(COORDINATES) == set(ARBFP)


def evaluate(name: str, *sources: float | Four) -> list[float]:
    """The result for sources of one component, or of four; float32 from float32."""
    arrays = [
        [np.array([[v]], np.float32) for v in s] if isinstance(s, tuple) else
        np.array([[s]], np.float32) for s in sources
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        actual = ARBFP[name].evaluate(*arrays)
    values = actual if isinstance(actual, tuple | list) else (actual,)
    assert all(value.dtype == np.float32 for value in values)
    return [float(np.asarray(value).item()) for value in values]


@pytest.mark.parametrize(
    ("name", "sources", "result"),
    [(name, *case) for name, cases in COMPONENTS.items() for case in cases],
)
def test_a_component_evaluates_to(name: str, sources: tuple[float, ...], result: float) -> None:
    # repr tells -0.0 from 0.0 and is the same for every NaN
    assert [repr(v) for v in evaluate(name, *sources)] == [repr(result)]


@pytest.mark.parametrize(
    ("name", "sources", "result"),
    [(name, *case) for name, cases in VECTORS.items() for case in cases],
)
def test_a_vector_evaluates_to(name: str, sources: tuple[Four, ...], result: Result) -> None:
    for actual, wanted in zip(evaluate(name, *sources), result, strict=True):
        assert wanted is None or repr(actual) == repr(wanted)


@pytest.mark.parametrize(("source", "result"), KILLS)
def test_a_fragment_dies_of_a_negative_component(source: Four, result: bool) -> None:
    condition = ARBFP["KIL"].evaluate([np.array([[v]], np.float32) for v in source])
    assert (condition.dtype, condition.tolist()) == (np.bool_, [[result]])


@pytest.mark.parametrize(
    ("name", "source", "result"),
    [(name, *case) for name, cases in COORDINATES.items() for case in cases],
)
def test_a_lookup_goes_to(name: str, source: Four, result: tuple[float, float, float]) -> None:
    assert tuple(evaluate(name, source)[:3]) == result


# What the spec leaves approximate, against float64 ------------------------------------------


def spread(low: float, high: float, count: int = 20000) -> np.ndarray:
    return np.random.default_rng(7).uniform(low, high, count).astype(np.float32)


def positive() -> np.ndarray:
    return (2.0 ** spread(-120, 120).astype(np.float64)).astype(np.float32)


APPROXIMATE: dict[str, tuple[tuple[np.ndarray, ...], Callable[..., np.ndarray], float]] = {
    "EX2": ((spread(-120, 120),), np.exp2, 2),
    "LG2": ((positive(),), np.log2, 4),
    "SIN": ((spread(-100, 100),), np.sin, 2),
    "COS": ((spread(-100, 100),), np.cos, 2),
    "RCP": ((positive(),), lambda a: 1 / a, 0.5),
    "RSQ": ((positive(),), lambda a: 1 / np.sqrt(a), 1.5),
    "POW": ((spread(0.01, 50), spread(-20, 20)[::-1].copy()), np.power, 2),
}
"""Sources, the function in float64, and how many units in the last place it may be off."""


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximations_are_as_good_as_float32_allows(name: str) -> None:
    sources, function, units = APPROXIMATE[name]
    exact = function(*(s.astype(np.float64) for s in sources))
    actual = ARBFP[name].evaluate(*sources)
    assert actual.dtype == np.float32
    error = np.abs(actual - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert error.max() <= units


def test_sine_and_cosine_together() -> None:
    angle = spread(-np.pi, np.pi)
    cosine, sine, *_ = ARBFP["SCS"].evaluate([angle] * 4)
    np.testing.assert_allclose(cosine, np.cos(angle.astype(np.float64)), atol=1.2e-7)
    np.testing.assert_allclose(sine, np.sin(angle.astype(np.float64)), atol=1.2e-7)


def test_the_specular_power_is_as_good_as_float32_allows() -> None:
    base, exponent = spread(0.01, 2), spread(-130, 130)[::-1].copy()
    with np.errstate(over="ignore", under="ignore"):
        *_, actual, _ = ARBFP["LIT"].evaluate([np.ones_like(base), base, base, exponent])
    limit = 128 - 2.0**-17
    exact = base.astype(np.float64) ** np.clip(exponent.astype(np.float64), -limit, limit)
    normal = (exact > 2.0**-126) & (exact < HUGE)
    np.testing.assert_allclose(actual[normal], exact[normal], rtol=3e-7)


# Dot products -------------------------------------------------------------------------------

ONE = (1.0, 1.0, 1.0, 1.0)
NO_ZERO = (-0.0, -0.0, -0.0, -0.0)

# Two sources of four components each, and what stands in all four components of the result.
DOT_PRODUCTS: list[tuple[str, Four, Four, float]] = [
    ("DP3", (1.0, 2.0, 3.0, NAN), (5.0, 6.0, 7.0, NAN), 38.0),
    ("DP3", NO_ZERO, ONE, -0.0),
    ("DPH", (1.0, 2.0, 3.0, NAN), (5.0, 6.0, 7.0, 8.0), 46.0),
    ("DP4", (1.0, 2.0, 3.0, 4.0), (1000.0, -100.0, 10.0, -1.0), 826.0),
    ("DP4", NO_ZERO, ONE, -0.0),
    ("DP4", (-0.0, -0.0, -0.0, 0.0), ONE, 0.0),
    # From the first component to the last, each sum rounded.
    ("DP4", (2.0**24, 1.0, 1.0, 1.0), ONE, 2.0**24),
    ("DP4", (1.0, 1.0, 1.0, 2.0**24), ONE, 2.0**24 + 4),
    ("DP4", (2.0**24, 1.0, -(2.0**24), 1.0), ONE, 1.0),
    # Each product is rounded: (1 + 2^-12)^2 - (1 + 2^-11) would be 2^-24.
    ("DP4", (1 + 2.0**-12, -1.0, 0.0, 0.0), (1 + 2.0**-12, 1 + 2.0**-11, 1.0, 1.0), 0.0),
    ("DP4", (HUGE, -HUGE, HUGE, -HUGE), ONE, 0.0),
    ("DP4", (1.0, INF, 1.0, 1.0), (1.0, 0.0, 1.0, 1.0), NAN),
]


@pytest.mark.parametrize(("name", "a", "b", "result"), DOT_PRODUCTS)
def test_a_dot_product_stands_in_every_component(
    name: str, a: Four, b: Four, result: float
) -> None:
    assert [repr(v) for v in evaluate(name, a, b)] == [repr(result)] * 4


# Of every row -------------------------------------------------------------------------------


def source_count(row: Opcode) -> int:
    return sum("Src" in kind.value or "src" in kind.value for kind in row.shape)


@ROWS
def test_evaluating_in_float64_stays_in_float64(row: Opcode) -> None:
    """The narrow arithmetics round what is computed so; constants are no narrower."""
    single = row.form in (Form.COMPONENTWISE, Form.SCALAR)
    third = np.full((1, 1), 1 / 3)
    actual = row.evaluate(*[third if single else [third] * 4] * source_count(row))
    for value in actual if isinstance(actual, tuple | list) else (actual,):
        is_whole = value.item() in (0.0, 1.0)  # which both hold exactly
        assert is_whole or value.dtype == np.float64


@ROWS
def test_the_result_is_made_of_each_source(row: Opcode) -> None:
    names = "abc"[: source_count(row)]
    width = 1 if row.form is Form.SCALAR else 4
    sources = [Read(Variable(name, Type(Kind.FLOAT, width)), ALL[:width]) for name in names]
    single = row.form in (Form.COMPONENTWISE, Form.SCALAR)
    made = row.evaluate(*(s if single else [component(s, c) for c in ALL] for s in sources))
    parts = walk(made if isinstance(made, Expression) else compose(made))
    assert {part.variable.name for part in parts if isinstance(part, Read)} == set(names)


def test_mnemonics_are_reserved_and_all_but_kil_saturate() -> None:
    for name, row in ARBFP.items():
        assert row.mnemonic == name
        assert name in words_of()
        assert row.saturable == (name != "KIL") == (f"{name}_SAT" in words_of())
