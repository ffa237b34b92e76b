"""The product of two matrices by a method of the time, as an array."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT, find_product
from gpgpu_legacy.api.run import execute, with_machine
from gpgpu_legacy.arguments import shape_in_words
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.tuned import choose
from gpgpu_legacy.pipeline.inputs import as_numbers, as_operands
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.registry import AUTO

MOST_PLANNED = 16
"""How many plans of products are kept, so that a repeated call does not build its plan anew."""


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

    Returns the (m, n) product, float32.
    a, b: (m, l) and (l, n), real numbers, converted to float32. With `transpose_a` or `transpose_b`
    the operand is given transposed. c: (m, n), added beta times, or once. It is read even if beta
    is 0, so that a NaN in it shows; BLAS would not read it.
    method: a name or an alias; `gpgpu-legacy algorithms` lists them.
    executor, machine: as for a pipeline's `run`. parameters: of the method, such as block or alpha,
    and fields of a Machine, such as exact.

    Raises InputError for an argument that does not fit, PlanError where the executor cannot run the
    plan, and ExecutorUnavailableError where the executor cannot run on this machine.

    >>> matmul([[1.0, 2.0]], [[3.0], [4.0]], executor="numpy")
    array([[11.]], dtype=float32)
    """
    how, given = with_machine(machine, parameters)
    algorithm = find_product(method)
    operands = {"A": _matrix("A", a), "B": _matrix("B", b)}
    if c is not None:
        operands["C0"] = _matrix("C", c)
        given.setdefault("beta", 1.0)
    elif given.get("beta") is not None:
        raise InputError("beta is given, but there is no C to scale; give c, or leave beta out")
    sizes = _sizes(operands["A"], operands["B"], given)
    choice = choose(algorithm, {**given, **sizes}, executor, how)
    plan = _planned(algorithm, choice.given)
    arrays = as_operands(plan, operands)
    return execute(plan, arrays, choice.executor, choice.machine)[1].outputs["C"]


def _sizes(a: NDArray[Any], b: NDArray[Any], given: Mapping[str, Any]) -> dict[str, int]:
    """The sizes of a product; InputError for matrices that do not multiply."""
    for name in ("m", "l", "n"):
        if name in given:
            raise InputError(f"{name} is the matrices' own; leave it out")
    turned_a, turned_b = given.get("transpose_a", False), given.get("transpose_b", False)
    m, columns = (a.T if turned_a else a).shape
    rows, n = (b.T if turned_b else b).shape
    if columns != rows:
        raise InputError(
            f"A{' transposed' * turned_a} has {columns} columns and B{' transposed' * turned_b} "
            f"has {rows} rows; they must be equal (A is {shape_in_words(a.shape)}, B is "
            f"{shape_in_words(b.shape)})"
        )
    return {"m": m, "l": rows, "n": n}


def _planned(algorithm: Algorithm, given: dict[str, Any]) -> Plan:
    """The plan of a product, as it was built before for equal parameters."""
    settings = algorithm.settings(given)
    # 0 and -0 are equal, and so are 1 and True; how they are spelled tells them apart.
    return _built(algorithm, tuple(settings.items()), repr(settings))


@lru_cache(maxsize=MOST_PLANNED)
def _built(algorithm: Algorithm, settings: tuple[tuple[str, Any], ...], _spelled: str) -> Plan:
    return algorithm.plan(**dict(settings))


def _matrix(name: str, values: ArrayLike) -> NDArray[Any]:
    """An array of two dimensions."""
    array = as_numbers(name, values, "a matrix of real numbers")
    if array.ndim != 2:
        raise InputError(f"{name} has {array.ndim} dimensions; give a matrix, which has 2")
    return array
