"""Results of executed listings, and recordings: sums, examples, times."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Value
from gpgpu_legacy.predict.mispredictions import read_log
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.serial import Line, Positive, Record, Several, Size, from_toml

# The decimal places in which the sums of the listings differ --------------------------------------

_SAMPLE, _BLOCK, _SEED = 96, 8, 0
_GLOBAL, _SHARED = "dobravec-bulic-global", "dobravec-bulic-shared"


def decimals_that_differ(inputs: Inputs, size: int, least: float) -> Value:
    """The decimal places of the largest and of the median difference between host and device.

    An element is a sum of n products of random numbers in [least, 1): on the host in double, on the
    device in float, in the order of its kernel. 9216 elements are compared.
    """
    host, device = _sums(inputs, size, least)
    apart = np.abs(host - device)
    return tuple(float(math.ceil(-math.log10(d))) for d in (apart.max(), np.median(apart)))


def share_that_differs(inputs: Inputs, size: int, least: float, decimals: int) -> Value:
    """The share of elements, in percent, in which host and device differ when they are printed.

    The same sums as for decimals_that_differ, rounded to that many decimals.
    """
    host, device = (np.rint(sums * 10**decimals) for sums in _sums(inputs, size, least))
    return 100.0 * float(np.mean(host != device))


def kernels_that_differ(inputs: Inputs, size: int, least: float) -> Value:
    """The number of elements, of 9216, in which the two kernels differ."""
    ours, theirs = (_device(inputs, method, size, least) for method in (_GLOBAL, _SHARED))
    return int(np.sum(ours != theirs))


_Floats = NDArray[np.float32]


_Doubles = NDArray[np.float64]


@cache
def _operands(size: int, least: float) -> tuple[_Floats, _Floats]:
    generator = np.random.default_rng(_SEED)
    a, b = (
        generator.uniform(least, 1.0, shape).astype(np.float32)
        for shape in ((_SAMPLE, size), (size, _SAMPLE))
    )
    return a, b


def _sums(inputs: Inputs, size: int, least: float) -> tuple[_Doubles, _Doubles]:
    """The sums of MulH and of the device, all of them floats.

    MulH adds in double, one product after another, and rounds to float at the end.
    """
    host, operands = np.zeros((_SAMPLE, _SAMPLE)), _operands(size, least)
    for column, row in zip(operands[0].T, operands[1], strict=True):
        host += np.outer(column.astype(np.float64), row.astype(np.float64))
    device = _device(inputs, _GLOBAL, size, least)
    return host.astype(np.float32).astype(np.float64), device.astype(np.float64)


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
_RAND_MAX = 2**31 - 1
_DEGREE, _SEPARATION, _DISCARDED = 31, 3, 310  # of glibc's default generator, TYPE_3


def _rand(seed: int) -> Iterator[int]:
    """The numbers that glibc's rand() returns after srand(seed), 0 to RAND_MAX.

    An additive feedback generator, r[i] = r[i - 3] + r[i - 31] modulo 2³², seeded by a linear
    congruential one; the lowest bit of each number is dropped.
    """
    state = [seed or 1]
    while len(state) < _DEGREE:
        state.append(16807 * state[-1] % _RAND_MAX)
    state += state[:_SEPARATION]
    for number in count():
        state.append((state[-_SEPARATION] + state[-_DEGREE]) % 2**32)
        if number >= _DISCARDED:
            yield state[-1] >> 1


def _drawn(inputs: Inputs, seed: int) -> dict[str, _Floats]:
    """A, B and C as the sample draws them: in turn one element of A, one of B, one of C."""
    shapes = [_printed(inputs, name).shape for name in "ABC"]
    numbers = np.fromiter(islice(_rand(seed), sum(map(math.prod, shapes))), np.float32)
    values = numbers / np.float32(_RAND_MAX) * np.float32(2.0) - np.float32(1.0)
    return {name: values[i::3].reshape(shapes[i]) for i, name in enumerate("ABC")}


def _printed(inputs: Inputs, name: str) -> _Doubles:
    return np.array(inputs.paper.matrix(name).digits, np.float64)


def _scalars(inputs: Inputs) -> tuple[_Doubles, float]:
    """α and β by a fit of the printed result, and the largest error that they leave in it."""
    a, b, before, after = (_printed(inputs, name) for name in ("A", "B", "C", "result"))
    columns = np.stack([(a @ b).ravel(), before.ravel()], axis=1)
    scalars = np.linalg.lstsq(columns, after.ravel(), rcond=None)[0].astype(float)
    scalars = scalars.round(_SCALAR_DECIMALS)
    return scalars, float(np.abs(columns @ scalars - after.ravel()).max())


def scalar(inputs: Inputs, index: int) -> Value:
    """α (index 0) or β (index 1) by a least-squares fit of the printed result, to five decimals.

    The matrices are printed with six digits, which do not determine a sixth decimal.
    """
    return float(_scalars(inputs)[0][index])


def scalar_residual(inputs: Inputs) -> Value:
    """The largest error of an element of the result that is computed with the fitted α and β."""
    return _scalars(inputs)[1]


def drawn(inputs: Inputs, matrix: str, row: int, column: int, seed: int) -> Value:
    """An element of A, B or C, drawn from glibc's random numbers after srand(seed)."""
    return float(_drawn(inputs, seed)[matrix][row, column])


def inputs_drawn_alike(inputs: Inputs, seed: int) -> Value:
    """The number of printed elements of A, B and C that equal the drawn ones in every digit."""
    return sum(
        f"{value:.6g}" == digits
        for name, matrix in _drawn(inputs, seed).items()
        for row, texts in zip(matrix, inputs.paper.matrix(name).digits, strict=True)
        for value, digits in zip(row, texts, strict=True)
    )


def example_result(
    inputs: Inputs, *, row: int, column: int, seed: int, alpha: str, beta: str
) -> Value:
    """An element of α·AB + β·C of the drawn inputs, by a run of `mali-sgemm`.

    alpha, beta: the claims that print them.
    """
    a, b, c = _drawn(inputs, seed).values()
    scalars = {"alpha": inputs.number(alpha), "beta": inputs.number(beta)}
    plan = find_product("mali-sgemm").plan(n=len(a), **scalars)
    ours = reference().run(plan, {"A": a, "B": b, "C0": c}, Machine()).outputs["C"]
    return float(ours[row, column])


def asymmetric_elements(inputs: Inputs, matrix: str) -> Value:
    """The number of elements above the diagonal that differ from their mirror images."""
    elements = _printed(inputs, matrix)
    return int(np.sum(np.triu(elements != elements.T)))


# Recorded times -----------------------------------------------------------------------------------


class RecordedMove(Record):
    """The transfers of a product by a path: an executor, or another library."""

    device: Line
    path: Line
    method: Line
    size: Size
    upload_s: Positive
    readback_s: Positive
    where: Line


class RecordedTimes(Record):
    """recorded.toml: times taken with this package, for claims that only a measurement decides."""

    move: Several[RecordedMove]


@cache
def _recorded_times() -> RecordedTimes:
    text = files("gpgpu_legacy.papers").joinpath("recorded.toml").read_text("utf-8")
    return from_toml(text, RecordedTimes, "recorded.toml")


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
    move = next(move for move in _recorded_times().move if move.path == path)
    counts = inputs.product(move.method, move.size).counts
    return counts.upload_bytes / move.upload_s / (counts.readback_bytes / move.readback_s)
