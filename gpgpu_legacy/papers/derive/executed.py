"""Results of executed listings, and recordings: sums, examples, times."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Value
from gpgpu_legacy.papers.recorded import recorded_times
from gpgpu_legacy.predict.mispredictions import read_log
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.studies.sdk_example import PRINTED, fitted, generated_inputs

# The decimal places in which the sums of the listings differ --------------------------------------

_SAMPLE, _BLOCK, _SEED = 96, 8, 0
_GLOBAL, _SHARED = "dobravec-bulic-global", "dobravec-bulic-shared"


def decimals_that_differ(inputs: Inputs, size: int, least: float) -> Value:
    """The decimal places of the largest and of the median difference between host and device.

    Sums of n products of random numbers in [least, 1): on the host in double, on the device in
    float, in the order of its kernel; 9216 elements of the product.
    """
    host, device = _host(size, least), _device(inputs, _GLOBAL, size, least)
    apart = np.abs(host.astype(np.float64) - device)
    return tuple(float(math.ceil(-math.log10(d))) for d in (apart.max(), np.median(apart)))


def share_that_differs(inputs: Inputs, size: int, least: float, decimals: int) -> Value:
    """The share of elements, in percent, in which host and device differ when they are printed.

    The same sums as for decimals_that_differ, rounded to that many decimals.
    """
    host, device = _host(size, least), _device(inputs, _GLOBAL, size, least)
    printed = (np.rint(sums.astype(np.float64) * 10**decimals) for sums in (host, device))
    return 100.0 * float(np.mean(np.not_equal(*printed)))


def kernels_that_differ(inputs: Inputs, size: int, least: float) -> Value:
    """The number of elements, of 9216, in which the two kernels differ."""
    ours, theirs = (_device(inputs, method, size, least) for method in (_GLOBAL, _SHARED))
    return int(np.sum(ours != theirs))


_Floats = NDArray[np.float32]


@cache
def _operands(size: int, least: float) -> tuple[_Floats, _Floats]:
    generator = np.random.default_rng(_SEED)
    a, b = (
        generator.uniform(least, 1.0, shape).astype(np.float32)
        for shape in ((_SAMPLE, size), (size, _SAMPLE))
    )
    return a, b


def _host(size: int, least: float) -> _Floats:
    """MulH's sums: in double, one product after another, rounded to float at the end."""
    a, b = _operands(size, least)
    sums = np.zeros((_SAMPLE, _SAMPLE))
    for k in range(size):
        sums += np.outer(a[:, k].astype(np.float64), b[k].astype(np.float64))
    return sums.astype(np.float32)


def _device(inputs: Inputs, method: str, size: int, least: float) -> _Floats:
    """A kernel's sums, by running it."""
    return _run(replace(inputs.product(method, size, _BLOCK), sample=_SAMPLE), least)


@cache
def _run(product: Product, least: float) -> _Floats:
    a, b = _operands(product.size, least)
    with reference().prepare(product.plan) as prepared:
        return prepared.run({"A": a, "B": b}).outputs["C"]


# The printed example of the Mali SDK --------------------------------------------------------------

_SCALAR_DECIMALS = 5


def _printed_matrix(inputs: Inputs, name: str) -> NDArray[np.float64]:
    return np.array([[float(digits) for digits in row] for row in inputs.paper.matrix(name).digits])


def _scalars(inputs: Inputs) -> list[float]:
    """α and β by a least-squares fit of the paper's printed matrices, to five decimals."""
    scalars, _ = fitted(*(_printed_matrix(inputs, name) for name in PRINTED))
    return [round(scalar, _SCALAR_DECIMALS) for scalar in scalars]


def scalar(inputs: Inputs, index: int) -> Value:
    """α (index 0) or β (index 1) by a least-squares fit of the printed result, to five decimals.

    The matrices are printed with six digits, which do not determine a sixth decimal.
    """
    return _scalars(inputs)[index]


def scalar_residual(inputs: Inputs) -> Value:
    """The largest error of an element of the result that is computed with these scalars."""
    a, b, c, after = (_printed_matrix(inputs, name) for name in PRINTED)
    alpha, beta = _scalars(inputs)
    return float(np.abs(alpha * (a @ b) + beta * c - after).max())


def drawn(matrix: str, row: int, column: int, seed: int) -> Value:
    """An element of A, B or C, drawn from glibc's random numbers after srand(seed)."""
    matrices = dict(zip("ABC", generated_inputs(seed), strict=True))
    return float(matrices[matrix][row, column])


def inputs_drawn_alike(inputs: Inputs, seed: int) -> Value:
    """The number of printed elements of A, B and C that equal the drawn ones in every digit."""
    return sum(
        f"{value:.6g}" == digits
        for name, matrix in zip("ABC", generated_inputs(seed), strict=True)
        for row, texts in zip(matrix, inputs.paper.matrix(name).digits, strict=True)
        for value, digits in zip(row, texts, strict=True)
    )


def example_result(
    inputs: Inputs, *, row: int, column: int, seed: int, alpha: str, beta: str
) -> Value:
    """An element of α·AB + β·C of the drawn inputs; alpha, beta: the claims that print them."""
    a, b, c = (drawn.astype(np.float64) for drawn in generated_inputs(seed))
    product, added = inputs.number(alpha) * (a @ b), inputs.number(beta) * c
    return float((product + added)[row, column])


def asymmetric_elements(inputs: Inputs, matrix: str) -> Value:
    """The number of elements above the diagonal that differ from their mirror images."""
    elements = _printed_matrix(inputs, matrix)
    return int(np.sum(np.triu(elements != elements.T)))


# Recorded times -----------------------------------------------------------------------------------


def recorded_time(chip: str, method: str, size: int, block: int, accumulate: str) -> Value:
    """A recorded time in seconds, by how sums accumulate."""
    wanted = (chip, method, size, block)
    return next(
        case.seconds
        for case in read_log().case
        if (case.chip, case.method, case.size, case.block) == wanted
        and (case.accumulate or Accumulate.COPY).value == accumulate
    )


def recorded_upload_over_readback(inputs: Inputs, path: str) -> Value:
    """The recorded rate of uploads over that of read-back, by a path."""
    move = next(move for move in recorded_times().move if move.path == path)
    counts = inputs.product(move.method, move.size).counts
    return counts.upload_bytes / move.upload_s / (counts.readback_bytes / move.readback_s)
