"""Reference functions: an algorithm's outputs computed in another way, to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError, kind_of, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.serial import Record

Reference = Callable[..., Any]
"""Takes the inputs by name, as float64; returns the output or a mapping of outputs."""

F64 = NDArray[np.float64]


def expected(plan: Plan, function: Reference, inputs: Mapping[str, F32]) -> dict[str, F64]:
    """The outputs that the reference function computes from the inputs, as float64 by name.

    Raises InputError unless it gives every output, in the output's shape.
    """
    return as_outputs(plan, called(function, in_float64(inputs)))


def in_float64(inputs: Mapping[str, F32]) -> dict[str, F64]:
    """The inputs in the form that a reference function takes."""
    return {name: values.astype(np.float64) for name, values in inputs.items()}


def called(function: Reference, inputs: Mapping[str, F64]) -> Any:
    """The function's result. It may divide by 0 without a warning, as a program does."""
    with np.errstate(all="ignore"):
        return function(**inputs)


def as_outputs(plan: Plan, given: Any) -> dict[str, F64]:
    """The result of a reference function in the form of `expected`."""
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


class ErrorKind(Enum):
    """The unit of an error. ABSOLUTE: if the reference is 0 everywhere."""

    RELATIVE = "relative to the largest magnitude of the output"
    ABSOLUTE = "absolute"


class OutputError(Record):
    """The error of an output: at the element farthest from the reference.

    error: NaN (null in JSON) if a NaN or an infinity is involved. at: the element; None without an
    error.
    """

    output: str
    error: float
    kind: ErrorKind
    at: tuple[int, ...] | None


def output_error(output: str, values: F32, wanted: F64) -> OutputError:
    """The largest difference from the wanted output, relative to its largest magnitude.

    An element with a NaN comes before all others.
    """
    if not wanted.size:
        return OutputError(output=output, error=0.0, kind=ErrorKind.ABSOLUTE, at=None)
    with np.errstate(all="ignore"):
        differences = np.abs(values - wanted)
        place = np.unravel_index(int(np.argmax(differences)), differences.shape)
        error, scale = float(differences[place]), float(np.max(np.abs(wanted)))
    return OutputError(
        output=output,
        error=error / scale if scale else error,
        kind=ErrorKind.RELATIVE if scale else ErrorKind.ABSOLUTE,
        at=tuple(int(i) for i in place) if error else None,
    )


def worst(errors: Iterable[OutputError]) -> float:
    """The largest error; NaN if any is NaN, 0 if there is none."""
    return max((one.error for one in errors), key=lambda e: (isnan(e), e), default=0.0)


def largest_error(outputs: Mapping[str, F32], wanted: Mapping[str, F64]) -> float:
    """The largest error of an output; NaN if a NaN or an infinity is involved."""
    return worst(output_error(name, outputs[name], values) for name, values in wanted.items())
