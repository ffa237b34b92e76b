"""Products in tests: the methods with all their ways, and what their results must be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import methods
from gpgpu_legacy.plan.plan import FragmentPass, Plan

F32 = NDArray[np.float32]


def ways(method: Method) -> list[Accumulate | None]:
    """The ways to accumulate that a method has; None where it leaves no choice."""
    return [None] if "accumulate" in method.refuses else list(Accumulate)


@cache
def draws(method: Method) -> bool:
    """Whether a method draws fragments; the others dispatch kernels."""
    plan = method.plan(Shape(1, 1, 1))
    return any(isinstance(pass_, FragmentPass) for _, pass_ in plan.weighted_passes())


def fragment_methods() -> list[Method]:
    return [method for method in methods() if draws(method)]


METHODS_AND_WAYS = [
    pytest.param(method, way, id=f"{method.name}-{way.value if way else 'default'}")
    for method in fragment_methods()
    for way in ways(method)
]


def in_turn(cases: Sequence[Any]) -> list[Any]:
    """Each drawing method with each case, its ways in turn. The methods begin with different ways.

    So every pair of a method, a way and a case occurs, where there are three cases or more.
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


def options_of(
    method: Method, way: Accumulate | None = None, block: int = 4, **more: Any
) -> Options:
    """Options that the method takes: `block` only where it has one, and small tiles.

    Skips the test that asks for something else that the method refuses.
    """
    refused = [name for name in sorted(method.refuses & more.keys()) if more[name]]
    if refused:
        pytest.skip(f"{method.name} takes no {' and no '.join(refused)}")
    chosen = None if "block" in method.refuses else block
    tile = None if "tile" in method.refuses else 3
    return Options(**{"block": chosen, "accumulate": way, "tile": tile, **more})


def random_operands(
    plan: Plan, seed: int = 1, low: float = -0.5, high: float = 0.5
) -> dict[str, F32]:
    rng = np.random.default_rng(seed)
    return {
        m.name: rng.uniform(low, high, (m.rows, m.columns)).astype(np.float32)
        for m in plan.operands
    }


def whole_operands(plan: Plan, seed: int = 7) -> dict[str, F32]:
    """Integers, whose products are the same on any hardware."""
    rng = np.random.default_rng(seed)
    return {
        m.name: rng.integers(-9, 10, (m.rows, m.columns)).astype(np.float32) for m in plan.operands
    }


def as_multiplied(operands: dict[str, F32], options: Options) -> tuple[F32, F32]:
    """A (m×l) and B (l×n): transposed back where they are given transposed."""
    a, b = operands["A"], operands["B"]
    return (a.T if options.transpose_a else a), (b.T if options.transpose_b else b)


def assert_within_the_bound(result: F32, a: F32, b: F32, passes: int) -> None:
    """|C - C64| ≤ (l + passes + 2)·2⁻²⁴·(|A||B|), element by element."""
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    bound = (a.shape[1] + passes + 2) * 2.0**-24 * (np.abs(wide_a) @ np.abs(wide_b))
    assert result.shape == (a.shape[0], b.shape[1])
    assert result.dtype == np.float32
    error = np.abs(result.astype(np.float64) - wide_a @ wide_b)
    assert (error <= bound).all(), f"{(error > bound).sum()} of {result.size} are off"


def fragment_passes(plan: Plan) -> int:
    return sum(n for n, pass_ in plan.weighted_passes() if isinstance(pass_, FragmentPass))


def plan_of(method: Method, shape: Shape | tuple[int, int, int], options: Options) -> Plan:
    return method.plan(shape if isinstance(shape, Shape) else Shape(*shape), options)


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
