"""The SDK's printed example."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.plan.formats import FORMATS, LARGEST_TEXTURE
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.studies.sdk_example.model import ORDER, generated_inputs

_SCALAR_DECIMALS = 5


def _printed_matrix(paper: Paper, name: str) -> NDArray[np.float64]:
    return np.array([[float(digits) for digits in row] for row in paper.matrix(name).rows])


def _scalars(paper: Paper) -> NDArray[np.float64]:
    """α and β by least squares, from the paper's printed matrices."""
    a, b, c, after = (_printed_matrix(paper, name) for name in ("A", "B", "C", "result"))
    columns = np.stack([(a @ b).ravel(), c.ravel()], axis=1)
    return np.asarray(np.linalg.lstsq(columns, after.ravel(), rcond=None)[0], np.float64)


@derivation
def scalar(paper: Paper, *, index: int) -> Value:
    """α (0) or β (1): what least squares find in the printed result, to five decimals.

    The sixth is beyond the six digits that the matrices are printed with.
    """
    return float(_scalars(paper).round(_SCALAR_DECIMALS)[index])


@derivation
def scalar_residual(paper: Paper) -> Value:
    """The largest error that these scalars, to five decimals, leave in an element of the result."""
    a, b, c, after = (_printed_matrix(paper, name) for name in ("A", "B", "C", "result"))
    alpha, beta = _scalars(paper).round(_SCALAR_DECIMALS)
    return float(np.abs(alpha * (a @ b) + beta * c - after).max())


@derivation
def drawn(paper: Paper, *, matrix: str, row: int, column: int, seed: int) -> Value:
    """An element of A, B or C as glibc's random numbers after srand(seed) give it."""
    found = dict(zip("ABC", generated_inputs(seed), strict=True))[matrix]
    return float(found[row, column])


@derivation
def inputs_drawn_alike(paper: Paper, *, seed: int) -> Value:
    """How many printed elements of A, B and C are the drawn ones to the last printed digit."""
    return sum(
        f"{value:.6g}" == digits
        for name, matrix in zip("ABC", generated_inputs(seed), strict=True)
        for row, texts in zip(matrix, paper.matrix(name).rows, strict=True)
        for value, digits in zip(row, texts, strict=True)
    )


@derivation
def example_result(paper: Paper, *, row: int, column: int, seed: int) -> Value:
    """An element of α·AB + β·C, of the drawn inputs and the scalars of least squares, rounded."""
    a, b, c = (each.astype(np.float64) for each in generated_inputs(seed, ORDER))
    alpha, beta = _scalars(paper).round(_SCALAR_DECIMALS)
    return float((alpha * (a @ b) + beta * c)[row, column])


@derivation
def asymmetric_elements(paper: Paper, *, matrix: str) -> Value:
    """Elements above the diagonal that are not equal to their mirror images."""
    found = _printed_matrix(paper, matrix)
    return int(np.sum(np.triu(found != found.T)))


@derivation
def vector_bits(paper: Paper, *, texture_format: str) -> Value:
    """Bits of four floats together."""
    return 8 * FORMATS[texture_format].texel_bytes


@derivation
def floats_together(paper: Paper, *, texture_format: str) -> Value:
    """Floats in a texel, or a register, of that format."""
    return FORMATS[texture_format].channels


@derivation
def largest_texture_matrix(paper: Paper, *, texels: int, sides: int) -> Value:
    """The largest n in one texture, where each texel holds sides × sides elements."""
    return sides * min(texels, LARGEST_TEXTURE)
