"""The opcode table against the specification, row by row; what is expected is written by hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from gpgpu_legacy.isa.opcodes import (
    OPCODES,
    RESERVED_OPCODES,
    RESERVED_WORDS,
    Cost,
    Form,
    Opcode,
    Shape,
)

NAN, INF = float("nan"), float("inf")
TINY = 2.0**-149  # the least denormal
HUGE = float(np.finfo(np.float32).max)


class Expected(NamedTuple):
    shape: Shape
    form: Form
    cost: Cost
    spec: str
    cases: list[tuple[tuple[float, ...], float]]  # sources, result; of one component


Four = tuple[float, float, float, float]

EXPECTED = {
    "MOV": Expected(
        Shape.VECTOR_OP,
        Form.COMPONENTWISE,
        Cost.ARITHMETIC,
        "3.11.5.18",
        [((v,), v) for v in (0.0, -0.0, 1.5, -HUGE, TINY, -TINY, INF, -INF, NAN)],
    ),
    "ADD": Expected(
        Shape.BINARY_OP,
        Form.COMPONENTWISE,
        Cost.ARITHMETIC,
        "3.11.5.2",
        [
            ((1.0, 2.0), 3.0),
            ((-0.0, -0.0), -0.0),
            ((-0.0, 0.0), 0.0),
            ((3.0, -3.0), 0.0),
            ((7.0, 0.0), 7.0),
            ((TINY, TINY), 2 * TINY),
            ((2.0**24, 1.0), 2.0**24),  # a tie, to even
            ((2.0**24, 3.0), 2.0**24 + 4),
            ((HUGE, HUGE), INF),
            ((INF, 1.0), INF),
            ((INF, INF), INF),
            ((INF, -INF), NAN),
            ((NAN, 1.0), NAN),
            ((1.0, NAN), NAN),
        ],
    ),
    "MUL": Expected(
        Shape.BINARY_OP,
        Form.COMPONENTWISE,
        Cost.ARITHMETIC,
        "3.11.5.19",
        [
            ((3.0, -2.0), -6.0),
            ((1.0, 0.1), float(np.float32(0.1))),
            ((0.0, 5.0), 0.0),
            ((0.0, -5.0), -0.0),
            ((-0.0, -5.0), 0.0),
            ((TINY, 0.5), 0.0),  # a tie, to even
            ((-TINY, 0.5), -0.0),
            ((TINY, 0.75), TINY),
            ((HUGE, 2.0), INF),
            ((HUGE, -2.0), -INF),
            ((INF, -2.0), -INF),
            ((-INF, -INF), INF),
            ((INF, 0.0), NAN),
            ((0.0, -INF), NAN),
            ((NAN, 0.0), NAN),
            ((2.0, NAN), NAN),
        ],
    ),
    "MAD": Expected(
        Shape.TERNARY_OP,
        Form.COMPONENTWISE,
        Cost.ARITHMETIC,
        "3.11.5.15",
        [
            ((2.0, 3.0, 4.0), 10.0),
            ((-2.0, 3.0, 6.0), 0.0),
            ((0.0, -1.0, -0.0), -0.0),
            ((0.0, -1.0, 0.0), 0.0),
            ((1.0, 7.0, 0.0), 7.0),
            # (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 exactly; with the product rounded first, 0.
            ((1 + 2.0**-12, 1 + 2.0**-12, -1 - 2.0**-11), 0.0),
            ((HUGE, 2.0, -INF), NAN),  # the product overflows before the sum
            ((HUGE, 2.0, -HUGE), INF),
            ((INF, 0.0, 1.0), NAN),
            ((INF, 1.0, -INF), NAN),
            ((INF, 1.0, 5.0), INF),
            ((NAN, 1.0, 1.0), NAN),
            ((1.0, NAN, 1.0), NAN),
            ((1.0, 1.0, NAN), NAN),
        ],
    ),
    "DP4": Expected(Shape.BINARY_OP, Form.VECTOR, Cost.ARITHMETIC, "3.11.5.6", []),
    "TEX": Expected(Shape.SAMPLE_OP, Form.SAMPLE, Cost.LOOKUP, "3.11.6.1", []),
}

ROWS = pytest.mark.parametrize("row", OPCODES.values(), ids=lambda row: row.mnemonic)


@ROWS
def test_every_row_has_an_expectation_here(row: Opcode) -> None:
    assert row.mnemonic in EXPECTED, "write down what the specification says of it"


@ROWS
def test_a_row_says_what_the_specification_says(row: Opcode) -> None:
    expected = EXPECTED[row.mnemonic]
    found = (row.shape, row.form, row.cost, row.spec)
    assert found == (expected.shape, expected.form, expected.cost, expected.spec)


CASES = [
    pytest.param(name, sources, result, id=f"{name}{sources}")
    for name, expected in EXPECTED.items()
    for sources, result in expected.cases
]


@pytest.mark.parametrize(("name", "sources", "result"), CASES)
def test_a_row_evaluates_to(name: str, sources: tuple[float, ...], result: float) -> None:
    evaluate = OPCODES[name].evaluate
    assert evaluate is not None
    with np.errstate(all="ignore"):
        found = evaluate(*(np.array([[v]], np.float32) for v in sources))
    assert found.dtype == np.float32
    [[value]] = found.tolist()
    # repr tells -0.0 from 0.0 and is the same for every NaN
    assert repr(value) == repr(result)


ONE = (1.0, 1.0, 1.0, 1.0)
NO_ZERO = (-0.0, -0.0, -0.0, -0.0)

# Two sources of four components each, and what stands in all four components of the result.
DOT_PRODUCTS: list[tuple[str, Four, Four, float]] = [
    ("DP4", (1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0), 70.0),
    ("DP4", (1.0, 2.0, 3.0, 4.0), (1000.0, -100.0, 10.0, -1.0), 826.0),
    ("DP4", (0.0, 0.0, 0.0, 0.0), ONE, 0.0),
    ("DP4", NO_ZERO, ONE, -0.0),
    ("DP4", (-0.0, -0.0, -0.0, 0.0), ONE, 0.0),
    ("DP4", NO_ZERO, (-1.0, 1.0, 1.0, 1.0), 0.0),
    ("DP4", (1.0, -1.0, 0.0, -0.0), ONE, 0.0),
    # From the first component to the last, each sum rounded.
    ("DP4", (2.0**24, 1.0, 1.0, 1.0), ONE, 2.0**24),
    ("DP4", (1.0, 1.0, 1.0, 2.0**24), ONE, 2.0**24 + 4),
    ("DP4", (2.0**24, 1.0, -(2.0**24), 1.0), ONE, 1.0),
    ("DP4", (2.0**24, -(2.0**24), 1.0, 1.0), ONE, 2.0),
    ("DP4", (1.0, 2.0**24, 1.0, -(2.0**24)), ONE, 0.0),
    # Each product is rounded: (1 + 2^-12)^2 - (1 + 2^-11) would be 2^-24.
    ("DP4", (1 + 2.0**-12, -1.0, 0.0, 0.0), (1 + 2.0**-12, 1 + 2.0**-11, 1.0, 1.0), 0.0),
    ("DP4", (TINY, TINY, TINY, TINY), ONE, 4 * TINY),
    ("DP4", (HUGE, HUGE, -HUGE, -HUGE), ONE, INF),
    ("DP4", (HUGE, -HUGE, HUGE, -HUGE), ONE, 0.0),
    ("DP4", (HUGE, 0.0, 0.0, 0.0), (2.0, 1.0, 1.0, 1.0), INF),
    ("DP4", (INF, 1.0, 1.0, 1.0), ONE, INF),
    ("DP4", (1.0, 1.0, 1.0, INF), (1.0, 1.0, 1.0, -1.0), -INF),
    ("DP4", (INF, 1.0, 1.0, -INF), ONE, NAN),
    ("DP4", (1.0, INF, 1.0, 1.0), (1.0, 0.0, 1.0, 1.0), NAN),
    ("DP4", (NAN, 1.0, 1.0, 1.0), ONE, NAN),
    ("DP4", ONE, (1.0, 1.0, 1.0, NAN), NAN),
    ("DP4", (1.0, 1.0, NAN, 1.0), (1.0, 1.0, 0.0, 1.0), NAN),
]


@pytest.mark.parametrize(("name", "a", "b", "result"), DOT_PRODUCTS)
def test_a_dot_product_stands_in_every_component(
    name: str, a: Four, b: Four, result: float
) -> None:
    evaluate = OPCODES[name].evaluate
    assert evaluate is not None
    with np.errstate(all="ignore"):
        found = evaluate(*([np.array([[v]], np.float32) for v in source] for source in (a, b)))
    assert len(found) == 4
    for value in found:
        assert value.dtype == np.float32
        assert repr(value.item()) == repr(result)


def test_every_vector_row_is_tried() -> None:
    tried = {name for name, *_ in DOT_PRODUCTS}
    assert tried == {name for name, row in OPCODES.items() if row.form is Form.VECTOR}


@ROWS
def test_a_row_evaluates_unless_it_samples(row: Opcode) -> None:
    assert (row.evaluate is None) == (row.form is Form.SAMPLE)


@ROWS
def test_evaluating_leaves_the_sources_alone(row: Opcode) -> None:
    if row.evaluate is None:
        return
    count = len(row.shape.value) - 1
    components = 4 if row.form is Form.VECTOR else 1
    sources = [np.array([[1.0, 2.0]] * components, np.float32) + i for i in range(count)]
    before = [s.copy() for s in sources]
    row.evaluate(*sources)
    assert all((s == b).all() for s, b in zip(sources, before, strict=True))


@ROWS
def test_the_glsl_text_uses_each_source(row: Opcode) -> None:
    kinds = [kind.value for kind in row.shape.value if "Src" in kind.value or "src" in kind.value]
    for number in range(len(kinds)):
        assert f"{{{number}}}" in row.glsl
    assert f"{{{len(kinds)}}}" not in row.glsl


@ROWS
def test_a_row_is_an_opcode_of_the_extension(row: Opcode) -> None:
    assert row.mnemonic in RESERVED_OPCODES
    assert row.saturable == (f"{row.mnemonic}_SAT" in RESERVED_WORDS)
    assert OPCODES[row.mnemonic] is row


def test_the_extension_has_33_opcodes() -> None:
    assert len(RESERVED_OPCODES) == 33
