"""The printed example of the Mali SDK."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.papers.derive.inputs import Inputs
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.papers.derive.times import printed_number
from gpgpu_legacy.studies.sdk_example.model import PRINTED, fitted, generated_inputs

_SCALAR_DECIMALS = 5


def _printed_matrix(inputs: Inputs, name: str) -> NDArray[np.float64]:
    return np.array([[float(digits) for digits in row] for row in inputs.paper.matrix(name).digits])


def _scalars(inputs: Inputs) -> list[float]:
    """α and β by a least-squares fit of the paper's printed matrices, to five decimals."""
    scalars, _ = fitted(*(_printed_matrix(inputs, name) for name in PRINTED))
    return [round(scalar, _SCALAR_DECIMALS) for scalar in scalars]


@derivation
def scalar(inputs: Inputs, index: int) -> Value:
    """α (index 0) or β (index 1) by a least-squares fit of the printed result, to five decimals.

    The matrices are printed with six digits, which do not determine a sixth decimal.
    """
    return _scalars(inputs)[index]


@derivation
def scalar_residual(inputs: Inputs) -> Value:
    """The largest error of an element of the result that is computed with these scalars."""
    a, b, c, after = (_printed_matrix(inputs, name) for name in PRINTED)
    alpha, beta = _scalars(inputs)
    return float(np.abs(alpha * (a @ b) + beta * c - after).max())


@derivation
def drawn(inputs: Inputs, matrix: str, row: int, column: int, seed: int) -> Value:
    """An element of A, B or C, drawn from glibc's random numbers after srand(seed)."""
    matrices = dict(zip("ABC", generated_inputs(seed), strict=True))
    return float(matrices[matrix][row, column])


@derivation
def inputs_drawn_alike(inputs: Inputs, seed: int) -> Value:
    """The number of printed elements of A, B and C that equal the drawn ones in every digit."""
    return sum(
        f"{value:.6g}" == digits
        for name, matrix in zip("ABC", generated_inputs(seed), strict=True)
        for row, texts in zip(matrix, inputs.paper.matrix(name).digits, strict=True)
        for value, digits in zip(row, texts, strict=True)
    )


@derivation
def example_result(
    inputs: Inputs, *, row: int, column: int, seed: int, alpha: str, beta: str
) -> Value:
    """An element of α·AB + β·C of the drawn inputs; alpha, beta: the claims that print them."""
    a, b, c = (drawn.astype(np.float64) for drawn in generated_inputs(seed))
    product, added = printed_number(inputs, alpha) * (a @ b), printed_number(inputs, beta) * c
    return float((product + added)[row, column])


@derivation
def asymmetric_elements(inputs: Inputs, matrix: str) -> Value:
    """The number of elements above the diagonal that differ from their mirror images."""
    elements = _printed_matrix(inputs, matrix)
    return int(np.sum(np.triu(elements != elements.T)))
