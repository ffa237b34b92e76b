"""The Mali OpenCL SDK's printed SGEMM example: inputs drawn again, scalars found, result made.

The sample's page prints A, B, C before and C after for 4×4 matrices drawn with seed 11, six digits
each, and does not print α and β. Here the inputs come from glibc's random numbers, the scalars from
the printed numbers by least squares, and the result from a run of `mali-sgemm`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.products import Run, run

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

SEED = 11
ORDER = 4

# As the sample's page prints them (Mali OpenCL SDK v1.1.0, SGEMM, "Example Result").
PRINTED = {
    "A": """
        0.852691 0.004421 -0.103067 -0.191788
        -0.23658 0.0336409 0.15781 0.582199
        -0.0814268 -0.857794 -0.63804 -0.0184786
        0.793476 0.459307 0.955647 -0.306809""",
    "B": """
        0.0529994 0.507535 -0.55821 -0.849519
        -0.929501 0.914186 0.464341 -0.652125
        0.409218 -0.125776 -0.273086 0.731335
        -0.371732 0.43648 -0.8001 0.233541""",
    "C": """
        -0.380438 -0.188046 0.665832 -0.503661
        -0.262456 -0.278552 -0.5179 -0.965873
        0.459781 0.720241 -0.22676 -0.719225
        -0.277435 -0.126954 -0.0564545 -0.142268""",
    "result": """
        0.0321557 0.347259 -0.225749 -0.897793
        -0.221897 0.117096 -0.413021 0.333833
        0.584754 -0.681301 -0.186507 0.0857027
        0.0925018 0.5558 -0.250792 -0.360579""",
}

RAND_MAX = 2**31 - 1
_DEGREE, _SEPARATION = 31, 3  # of glibc's default generator, TYPE_3
_DISCARDED = 310


def glibc_rand(seed: int) -> Iterator[int]:
    """What glibc's rand() returns after srand(seed), one call after another: 0 to RAND_MAX.

    An additive feedback generator, r[i] = r[i - 3] + r[i - 31] modulo 2³², seeded by a linear
    congruential one; the lowest bit of each number is dropped.
    """
    state = [seed or 1]
    while len(state) < _DEGREE:
        state.append(16807 * state[-1] % RAND_MAX)
    state += state[:_SEPARATION]
    for i in range(_DEGREE + _SEPARATION, _DEGREE + _SEPARATION + _DISCARDED):
        state.append((state[i - _SEPARATION] + state[i - _DEGREE]) % 2**32)
    while True:
        state.append((state[-_SEPARATION] + state[-_DEGREE]) % 2**32)
        state.pop(0)
        yield state[-1] >> 1


def drawn_inputs(seed: int = SEED, order: int = ORDER) -> tuple[F32, F32, F32]:
    """A, B and C as the sample draws them: element by element, one of A, one of B, one of C.

    Each is rand() / RAND_MAX · 2 - 1 in float32.
    """
    numbers = glibc_rand(seed)
    drawn = np.array([next(numbers) for _ in range(3 * order * order)], np.float32)
    values = drawn / np.float32(RAND_MAX) * np.float32(2.0) - np.float32(1.0)
    a, b, c = (values[i::3].reshape(order, order) for i in range(3))
    return a, b, c


def printed(name: str) -> F64:
    """A matrix of the page, as numbers."""
    return np.array(PRINTED[name].split(), np.float64).reshape(ORDER, ORDER)


@dataclass(frozen=True, slots=True)
class Scalars:
    """α and β found from the printed matrices; residual: the largest error left in an element."""

    alpha: float
    beta: float
    residual: float


def find_scalars() -> Scalars:
    """The α and β that make α·AB + β·C come nearest to the printed result, by least squares."""
    product, before, after = printed("A") @ printed("B"), printed("C"), printed("result")
    columns = np.stack([product.ravel(), before.ravel()], axis=1)
    (alpha, beta), *_ = np.linalg.lstsq(columns, after.ravel(), rcond=None)
    residual = float(np.abs(columns @ [alpha, beta] - after.ravel()).max())
    return Scalars(float(alpha), float(beta), residual)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A matrix of ours beside the page's: texts of six digits, and how many of them are equal."""

    name: str
    ours: tuple[str, ...]
    page: tuple[str, ...]

    @property
    def equal(self) -> int:
        """How many of the 16 are the same to the last printed digit."""
        return sum(a == b for a, b in zip(self.ours, self.page, strict=True))


@dataclass(frozen=True, slots=True)
class Example:
    """The example done again."""

    scalars: Scalars
    run: Run
    comparisons: tuple[Comparison, ...]


def sdk_example(executor: str = "auto") -> Example:
    """Draw the inputs, find the scalars, run mali-sgemm with them, compare with the page."""
    scalars = find_scalars()
    alpha, beta = round(scalars.alpha, 4), round(scalars.beta, 4)
    a, b, c = drawn_inputs()
    made = run(a, b, "mali-sgemm", c=c, alpha=alpha, beta=beta, executor=executor)
    matrices = {"A": a, "B": b, "C": c, "result": made.product}
    comparisons = tuple(
        Comparison(name, tuple(f"{v:.6g}" for v in matrix.ravel()), tuple(PRINTED[name].split()))
        for name, matrix in matrices.items()
    )
    return Example(scalars, made, comparisons)
