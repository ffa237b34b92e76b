"""Products in tests: the methods with all their ways to accumulate, and their expected results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.plan.plan import FragmentPass, Plan

F32 = NDArray[np.float32]


def ways(method: Algorithm) -> list[Accumulate | None]:
    """The ways to accumulate that a method has; only None if it has no choice."""
    return list(Accumulate) if "accumulate" in method.parameters else [None]


def fragment_passes(plan: Plan) -> int:
    return sum(n for n, pass_ in plan.weighted_passes() if isinstance(pass_, FragmentPass))


@cache
def fragment_methods() -> list[Algorithm]:
    """The methods that draw fragments; the others dispatch kernels."""
    return [method for method in products() if fragment_passes(method.plan(n=1))]


METHODS_AND_WAYS = [
    pytest.param(method, way, id=f"{method.name}-{way.value if way else 'default'}")
    for method in fragment_methods()
    for way in ways(method)
]


def in_turn(cases: Sequence[Any]) -> list[Any]:
    """Each drawing method with each case, and its ways in turn.

    The methods begin with different ways. So every pair of a method, a way and a case occurs if
    there are three cases or more.
    """
    first, made = 0, []
    for method in fragment_methods():
        its = ways(method)
        for number, case in enumerate(cases):
            way = its[(first + number) % len(its)]
            name = way.value if way else "default"
            made.append(pytest.param(method, way, case, id=f"{method.name}-{name}-{case}"))
        first += len(its) > 1
    return made


def plan_of(
    method: Algorithm, shape: tuple[int, int, int], way: Accumulate | None = None, **more: Any
) -> Plan:
    """The plan of an m×l×n product: blocks of 4 and tiles of 3 where the method has them.

    Skips the test if it asks for something that the method has no parameter for.
    """
    given = {"block": 4, "tile": 3, "accumulate": way} | more
    known = {name: value for name, value in given.items() if name in method.parameters}
    lacked = sorted(n for n in given.keys() - known.keys() - {"block", "tile"} if given[n])
    if lacked:
        pytest.skip(f"{method.name} takes no {' and no '.join(lacked)}")
    m, l, n = shape  # noqa: E741
    return method.plan(m=m, l=l, n=n, **{k: v for k, v in known.items() if v is not None})


def random_operands(
    plan: Plan, seed: int = 1, low: float = -0.5, high: float = 0.5
) -> dict[str, F32]:
    rng = np.random.default_rng(seed)
    return {
        m.name: rng.uniform(low, high, (m.rows, m.columns)).astype(np.float32)
        for m in plan.operands
    }


def whole_operands(plan: Plan, seed: int = 7) -> dict[str, F32]:
    """Operands of small integers, whose products are the same on any hardware."""
    rng = np.random.default_rng(seed)
    return {
        m.name: rng.integers(-9, 10, (m.rows, m.columns)).astype(np.float32) for m in plan.operands
    }


def as_multiplied(
    operands: dict[str, F32], *, transpose_a: bool = False, transpose_b: bool = False, **_: Any
) -> tuple[F32, F32]:
    """A (m×l) and B (l×n) as they are multiplied; those given transposed are transposed back."""
    a, b = operands["A"], operands["B"]
    return (a.T if transpose_a else a), (b.T if transpose_b else b)


def assert_within_the_bound(result: F32, a: F32, b: F32, passes: int) -> None:
    """Assert |C - C64| ≤ (l + passes + 2)·2⁻²⁴·(|A||B|), element by element."""
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    bound = (a.shape[1] + passes + 2) * 2.0**-24 * (np.abs(wide_a) @ np.abs(wide_b))
    assert result.shape == (a.shape[0], b.shape[1])
    assert result.dtype == np.float32
    error = np.abs(result.astype(np.float64) - wide_a @ wide_b)
    assert (error <= bound).all(), f"{(error > bound).sum()} of {result.size} are off"


def eight_bit_product(a: F32, b: F32) -> F32:
    """Larson & McAllister's product on 8-bit hardware, in integers of our own.

    a, b: values in [0, 1], stored as round(255 v). Each product is round(p·q / 255), rounded half
    up; the framebuffer's sum stops at 255. The result is read as k / 255.
    """
    p = [[int(255.0 * float(v) + 0.5) for v in row] for row in a]
    q = [[int(255.0 * float(v) + 0.5) for v in row] for row in b]
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0
            for k in range(a.shape[1]):
                total = min(255, total + (2 * p[i][k] * q[k][j] + 255) // 510)
            sums[i, j] = np.float32(total) / np.float32(255)
    return sums
