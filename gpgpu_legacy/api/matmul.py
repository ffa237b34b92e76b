"""The product of two matrices by a method of the time, as an array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT, find_product
from gpgpu_legacy.api.prepared import prepared
from gpgpu_legacy.api.run import with_machine
from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import InputError, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.tuned import choose, state
from gpgpu_legacy.pipeline.inputs import as_numbers, as_operands
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Numeric
from gpgpu_legacy.predict.auto import executors_for
from gpgpu_legacy.runtime.executor import AUTO, Executor
from gpgpu_legacy.runtime.machine import Machine

MOST_PRODUCTS = 16
"""The number of products kept with their plans, so that a repeated call reuses its plan."""


@public
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    method: str = DEFAULT_PRODUCT,
    *,
    c: ArrayLike | None = None,
    executor: str = AUTO,
    machine: Machine | None = None,
    **parameters: Any,
) -> F32:
    """Multiply two matrices by a method of the time: A·B, or alpha·A·B + beta·C.

    Returns the (m, n) product, float32. a, b: (m, l) and (l, n), real numbers, converted to
    float32. With `transpose_a` or `transpose_b` the operand is given transposed. c: (m, n), added
    with the factor beta (default: 1). It is read even if beta is 0, so that a NaN in it propagates;
    BLAS would not read it. method: a name or an alias; `gpgpu-legacy algorithms` lists them.
    executor, machine: as for a pipeline's `run`. parameters: of the method, such as block or alpha,
    and fields of a Machine, such as exact.

    Raises InputError for an argument that does not fit, PlanError if the executor cannot run the
    plan, and ExecutorUnavailableError if the executor cannot run on this machine.

    >>> matmul([[1.0, 2.0]], [[3.0], [4.0]], executor="numpy")
    array([[11.]], dtype=float32)
    """
    operands = {"A": _matrix("A", a), "B": _matrix("B", b)}
    if c is not None:
        operands["C0"] = _matrix("C", c)
        parameters.setdefault("beta", 1.0)
    elif parameters.get("beta") is not None:
        raise InputError("beta is given, but there is no C to scale; give c, or leave beta out")
    shapes = operands["A"].shape, operands["B"].shape
    if c is None and 0 in shapes[0] + shapes[1]:  # an empty sum, for which there is no texture
        find_product(method)
        sizes = _sizes(*shapes, parameters)
        return np.zeros((sizes["m"], sizes["n"]), np.float32)
    tuning = state() if executor == AUTO else None
    given = _Given(parameters)
    product = _product(method, shapes, executor, machine, given, _tuning=tuning)
    if c is not None or product.is_unorm:
        operands = as_operands(product.plan, operands)
    with prepared(product.plan, product.executors(1), product.machine) as (_, ready):
        return ready.run(operands).outputs["C"]


class _Given(dict[str, Any]):
    """Parameters as a key that tells 0 from -0, and 1 from True."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other)


class _Product(NamedTuple):
    """A product that may be computed again. executors: those to try, for a number of runs."""

    plan: Plan
    machine: Machine
    executors: Callable[[int], list[Executor]]
    is_unorm: bool


@lru_cache(maxsize=MOST_PRODUCTS)
def _product(
    method: str,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    executor: str,
    machine: Machine | None,
    parameters: _Given,
    *,
    _tuning: object,
) -> _Product:
    """The product of matrices of these shapes."""
    algorithm, (how, given) = find_product(method), with_machine(machine, parameters)
    asked = {**given, **_sizes(*shapes, given)}
    chosen, executor, how = choose(algorithm, asked, executor, how)
    plan = algorithm.plan(**chosen)
    executors = executors_for(executor, plan, how)
    is_unorm = any(texture.format.numeric is Numeric.UNORM for texture in plan.textures)
    return _Product(plan, how, executors, is_unorm)


def _sizes(a: tuple[int, ...], b: tuple[int, ...], given: Mapping[str, Any]) -> dict[str, int]:
    """The sizes of a product of these shapes; InputError for matrices that do not multiply."""
    for name in ("m", "l", "n"):
        if name in given:
            raise InputError(f"{name} is the matrices' own; leave it out")
    turned_a, turned_b = given.get("transpose_a", False), given.get("transpose_b", False)
    m, columns = a[::-1] if turned_a else a
    rows, n = b[::-1] if turned_b else b
    if columns != rows:
        raise InputError(
            f"A{' transposed' * turned_a} has {columns} columns and B{' transposed' * turned_b} "
            f"has {rows} rows; they must be equal (A is {shape_in_words(a)}, B is "
            f"{shape_in_words(b)})"
        )
    return {"m": m, "l": rows, "n": n}


def _matrix(name: str, values: ArrayLike) -> NDArray[Any]:
    """An array of two dimensions."""
    array = as_numbers(name, values, "a matrix of real numbers")
    if array.ndim != 2:
        raise InputError(f"{name} has {array.ndim} dimensions; give a matrix, which has 2")
    return array
