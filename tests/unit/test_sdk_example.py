"""The Mali SDK's printed example: glibc's numbers, the scalars, the sixteen printed results."""

from __future__ import annotations

import json
from itertools import islice

import numpy as np
import pytest
from commands import Command

from gpgpu_legacy.studies.sdk_example import (
    PRINTED,
    SdkMatrix,
    fitted,
    generated_inputs,
    glibc_rand,
    printed,
    sdk_example,
)


@pytest.mark.parametrize(
    ("seed", "first"),
    [
        # What a C program prints on any Linux machine after srand(seed).
        (1, [1804289383, 846930886, 1681692777, 1714636915, 1957747793]),
        (42, [71876166, 708592740, 1483128881, 907283241, 442951012]),
        (0, [1804289383, 846930886]),  # glibc takes 0 for 1
    ],
)
def test_numbers_are_glibcs(seed: int, first: list[int]) -> None:
    assert list(islice(glibc_rand(seed), len(first))) == first


def test_inputs_are_generated_in_turn() -> None:
    numbers = glibc_rand(11)
    a, b, c = generated_inputs()
    for i in range(16):
        for matrix in (a, b, c):
            expected = next(numbers) / (2**31 - 1) * 2 - 1
            assert matrix.ravel()[i] == pytest.approx(expected, abs=2**-23)


def test_scalars_are_found_from_the_printed_matrices_alone() -> None:
    (alpha, beta), residual = fitted(*map(printed, PRINTED))
    assert alpha == pytest.approx(1.0, abs=2e-6)
    assert beta == pytest.approx(0.1, abs=2e-6)
    assert residual < 1e-6
    again = alpha * (printed("A") @ printed("B")) + beta * printed("C")
    assert np.abs(again - printed("result")).max() == pytest.approx(residual)


def test_every_printed_digit_is_reproduced() -> None:
    example = sdk_example("numpy")
    assert {c.name: c.equal for c in example.matrices} == dict.fromkeys(PRINTED, 16)
    assert repr(example).startswith("<Example: The Mali OpenCL SDK's printed SGEMM example")


def test_a_digit_that_differs_is_said_to() -> None:
    page = tuple(PRINTED["A"].split())
    assert SdkMatrix(name="A", ours=("0.852692", *page[1:]), page=page).equal == 15


def test_table_and_json_say_the_same(run: Command) -> None:
    code, out, _ = run("study", "sdk-example", "--executor", "numpy", "--format", "csv")
    assert code == 0
    assert [line.rpartition(",")[2] for line in out.splitlines()] == ["equal", *["true"] * 16]
    code, out, _ = run("study", "sdk-example", "--executor", "numpy", "--json")
    data = json.loads(out)
    assert all(m["ours"] == m["page"] for m in data["matrices"]) and len(data["matrices"]) == 4
