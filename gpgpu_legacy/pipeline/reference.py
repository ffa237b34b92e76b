"""Reference functions: an algorithm's outputs computed in another way, to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.arguments import kind_of, shape_in_words
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.plan import Plan

Reference = Callable[..., Any]
"""A function of the inputs, by name, float64, that returns the output or a mapping of outputs."""

F64 = NDArray[np.float64]


def expected(plan: Plan, function: Reference, inputs: Mapping[str, F32]) -> dict[str, F64]:
    """What the reference function gives for the inputs, as float64 by the outputs' names.

    Raises InputError where it does not give every output, in the output's shape.
    """
    return as_outputs(plan, called(function, in_float64(inputs)))


def in_float64(inputs: Mapping[str, F32]) -> dict[str, F64]:
    """Inputs as a reference function takes them."""
    return {name: values.astype(np.float64) for name, values in inputs.items()}


def called(function: Reference, inputs: Mapping[str, F64]) -> Any:
    """What the function returns. It may divide by 0 without a warning, as a program does."""
    with np.errstate(all="ignore"):
        return function(**inputs)


def as_outputs(plan: Plan, given: Any) -> dict[str, F64]:
    """What a reference function returned, as `expected` gives it."""
    shapes = {matrix.name: matrix.array_shape for matrix in plan.results}
    if not isinstance(given, Mapping):
        given = dict.fromkeys(shapes, given) if len(shapes) == 1 else {}
    if given.keys() != shapes.keys():
        raise InputError(
            f"the reference of {plan.name} gives {', '.join(map(str, given)) or 'no mapping'}; the "
            f"outputs are {', '.join(shapes)}"
        )
    arrays = {name: _in_numbers(plan, name, values) for name, values in given.items()}
    for name, array in arrays.items():
        if array.shape != shapes[name]:
            raise InputError(
                f"the reference of {plan.name} gives {name} as {shape_in_words(array.shape)}; the "
                f"output is {shape_in_words(shapes[name])}"
            )
    return arrays


def _in_numbers(plan: Plan, name: str, values: Any) -> F64:
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"the reference of {plan.name} gives {name} as {kind_of(values)}; give an array of "
            "real numbers"
        ) from None


def largest_error(outputs: Mapping[str, F32], wanted: Mapping[str, F64]) -> float:
    """The largest difference of an output, over its largest magnitude; the largest of all outputs.

    NaN where a NaN or an infinity takes part.
    """
    return max((_error(outputs[name], values) for name, values in wanted.items()), default=0.0)


def _error(values: F32, wanted: F64) -> float:
    if not wanted.size:
        return 0.0
    with np.errstate(all="ignore"):
        error = float(np.max(np.abs(values - wanted)))
        scale = float(np.max(np.abs(wanted)))
    return error / scale if scale else error
