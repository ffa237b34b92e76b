"""The Mali OpenCL SDK's printed SGEMM example, reproduced.

The sample's page prints A, B, C before and C after, 4×4 random matrices from seed 11, with six
digits each. It does not print α and β. Here glibc's random numbers give the inputs, least squares
over the printed numbers give the scalars, and a run of `mali-sgemm` gives the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import eq

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.predict.auto import executor_for
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.runtime.executor import AUTO
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.serial import Record

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
    """The numbers that glibc's rand() returns after srand(seed), 0 to RAND_MAX.

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


def generated_inputs(seed: int = SEED) -> tuple[F32, F32, F32]:
    """A, B and C as the sample generates them: in turn one element of A, one of B, one of C.

    Each is rand() / RAND_MAX · 2 - 1 in float32.
    """
    numbers = glibc_rand(seed)
    integers = np.array([next(numbers) for _ in range(3 * ORDER**2)], np.float32)
    values = integers / np.float32(RAND_MAX) * np.float32(2.0) - np.float32(1.0)
    a, b, c = (values[i::3].reshape(ORDER, ORDER) for i in range(3))
    return a, b, c


def printed(name: str) -> F64:
    """A matrix of the page, as numbers."""
    return np.array(PRINTED[name].split(), np.float64).reshape(ORDER, ORDER)


def fitted(a: F64, b: F64, before: F64, after: F64) -> tuple[list[float], float]:
    """α and β with which α·AB + β·C is nearest to a result, and the largest error left."""
    columns = np.stack([(a @ b).ravel(), before.ravel()], axis=1)
    scalars: F64 = np.linalg.lstsq(columns, after.ravel(), rcond=None)[0].astype(np.float64)
    return scalars.tolist(), float(np.abs(columns @ scalars - after.ravel()).max())


class SdkMatrix(Record):
    """A matrix of ours beside the page's, element by element: texts of six digits."""

    name: str
    ours: tuple[str, ...]
    page: tuple[str, ...]

    @property
    def equal(self) -> int:
        """The number of the 16 elements that agree to the last printed digit."""
        return sum(map(eq, self.ours, self.page))


_TITLES = {
    "A": "A, generated",
    "B": "B, generated",
    "C": "C before, generated",
    "result": "C after, computed",
}


class Example(Result):
    """The example, reproduced.

    alpha, beta: found from the printed matrices, by least squares over the result's 16 elements;
    the run rounds them. residual: the largest error left in an element.
    """

    alpha: float
    beta: float
    residual: float
    executor: str
    device: str
    matrices: tuple[SdkMatrix, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Every matrix of the example, row by row, and the scalars that were found."""
        rows = []
        for matrix in self.matrices:
            name = _TITLES[matrix.name]
            for first in range(0, ORDER**2, ORDER):
                ours, page = (one[first : first + ORDER] for one in (matrix.ours, matrix.page))
                rows.append((name, "  ".join(ours), "  ".join(page), ours == page))
                name = ""
        notes = (
            f"Found by least squares from the printed matrices: α = {self.alpha:.7f}, "
            f"β = {self.beta:.7f}, with a largest residual of {self.residual:.1e}; "
            f"run with α = {round(self.alpha, 4):g}, β = {round(self.beta, 4):g}.",
            *(
                f"{_TITLES[m.name]}: {m.equal} of {len(m.page)} agree to the last printed digit."
                for m in self.matrices
            ),
            f"Ran on {self.executor}: {self.device}.",
        )
        caption = (
            f"The Mali OpenCL SDK's printed SGEMM example, from glibc's rand() with seed {SEED}."
        )
        heads = ("matrix", "ours", "the page", "equal")
        return [Grid("sdk-example", caption, heads, tuple(rows), notes)]


def sdk_example(executor: str = AUTO) -> Example:
    """Generate the inputs, find the scalars, run mali-sgemm with them, compare with the page."""
    (alpha, beta), residual = fitted(*map(printed, PRINTED))
    plan = find_product("mali-sgemm").plan(n=ORDER, alpha=round(alpha, 4), beta=round(beta, 4))
    runs_on = executor_for(executor, plan)
    a, b, c = generated_inputs()
    result = runs_on.run(plan, {"A": a, "B": b, "C0": c}, Machine()).outputs["C"]
    matrices = {"A": a, "B": b, "C": c, "result": result}
    return Example(
        alpha=alpha,
        beta=beta,
        residual=residual,
        executor=runs_on.name,
        device=runs_on.device(),
        matrices=tuple(
            SdkMatrix(
                name=name,
                ours=tuple(f"{value:.6g}" for value in matrix.ravel()),
                page=tuple(PRINTED[name].split()),
            )
            for name, matrix in matrices.items()
        ),
    )
