"""The inputs of a plan, which are the caller's or samples, and the outputs that a reference gives.

A reference is a function that computes an algorithm's outputs in another way, for comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.errors import InputError, as_whole, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.storage import Reference, Sample
from gpgpu_legacy.plan.expand import settled
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Format, Matrix, Numeric
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.runtime.prepared import Observer
from gpgpu_legacy.serial import Record


def as_operands(
    plan: Plan, inputs: Mapping[str, ArrayLike], *, some: bool = False
) -> dict[str, F32]:
    """The inputs of a plan as float32 arrays in their own shapes.

    some: whether inputs may be missing. Raises InputError for an input that is missing, unknown,
    not an array of real numbers, of another shape, or with values that its texture cannot hold.
    """
    wanted = matrices_of(plan, "input", plan.operands, inputs)
    given: dict[str, F32] = {}
    for name, matrix in wanted.items():
        if name in inputs:
            what, shape = f"input {name}", matrix.array_shape
            array = as_numbers(what, inputs[name], "an array of real numbers")
            if array.shape != shape:
                raise InputError(
                    f"{what} is {shape_in_words(array.shape)}, but plan {plan.name} needs "
                    f"{shape_in_words(shape)}"
                )
            given[name] = as_singles(what, array)
        elif not some:
            names = ", ".join(wanted)
            raise InputError(f"plan {plan.name} needs the inputs {names}; give {name}, too")
    for input_ in plan.inputs:
        texels = plan.texture(input_.texture).format
        if texels.numeric is Numeric.UNORM and input_.matrix in given:
            _in_unit_range(input_.matrix, given[input_.matrix], texels)
    return given


def _in_unit_range(name: str, array: F32, texels: Format) -> None:
    is_bad = ~((array >= 0.0) & (array <= 1.0))
    if is_bad.any():
        place = tuple(int(i) for i in np.argwhere(is_bad)[0])
        raise InputError(
            f"{name}{list(place)} is {array[place]}, but its texture holds {texels.name}, from 0 "
            "to 1; scale the input, or choose a texture of floats, as r32f"
        )


def matrices_of(
    plan: Plan, what: str, matrices: Sequence[Matrix], asked: Iterable[str]
) -> dict[str, Matrix]:
    """The plan's inputs or outputs by name; InputError if one that is asked for is unknown.

    what: input or output, for messages. asked: names.
    """
    known = {matrix.name: matrix for matrix in matrices}
    for name in asked:
        if name not in known:
            names = ", ".join(known) or "none"
            raise InputError(f"plan {plan.name} has no {what} {name}; its {what}s are {names}")
    return known


def as_numbers(name: str, values: ArrayLike, wanted: str) -> NDArray[Any]:
    """The values as an array of real numbers; InputError for any others.

    name: of the values, in messages. wanted: what to give instead, in words.
    """
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths; give {wanted}") from None
    if array.dtype.kind not in "fiub":
        held = _NO_NUMBERS.get(array.dtype.kind, f"values of type {array.dtype}")
        raise InputError(f"{name} holds {held}, not real numbers; give {wanted}")
    return array


def as_singles(name: str, array: NDArray[Any]) -> F32:
    """The numbers in float32; InputError for a finite one beyond its range."""
    try:
        with np.errstate(over="raise"):
            return np.ascontiguousarray(array, np.float32)
    except FloatingPointError:
        largest = np.abs(array[np.isfinite(array)]).max()
        raise InputError(
            f"{name} has {largest:.4g}, and float32 ends at 3.4e38; scale it, or give inf"
        ) from None


_NO_NUMBERS = {"O": "objects", "U": "text", "S": "bytes", "c": "complex numbers"}


def operands_of(
    p: PlanBuilder, plan: Plan, inputs: Mapping[str, ArrayLike] | None, seed: int = 0
) -> dict[str, F32]:
    """The given inputs, checked, or samples that depend on the seed. plan: of p."""
    return as_operands(plan, inputs) if inputs else sample_inputs(plan, p.samples, seed)


def replay(
    p: PlanBuilder, observer: Observer, inputs: Mapping[str, ArrayLike] | None = None
) -> None:
    """Run a plan on the reference machine, with all iterations of its loops.

    observer: sees each pass. inputs: by default samples.
    """
    plan = settled(p.plan())
    reference().run(plan, operands_of(p, plan, inputs), observer=observer)


def sample_inputs(plan: Plan, samples: Mapping[str, Sample], seed: int = 0) -> dict[str, F32]:
    """Inputs to try a plan with: made by `samples` where it has a function, else uniform in [0, 1).

    The same seed gives the same inputs. Raises NoRoomError if memory cannot hold them and the plan.
    """
    generator = np.random.default_rng(as_whole("seed", seed))
    sizes = [m.size_bytes for m in plan.operands + plan.results]
    largest = max(sizes[: len(plan.operands)], default=0)
    about = plan.texture_bytes + sum(sizes) + 2 * largest
    require_memory(about, f"plan {plan.name} with its inputs", "build it for smaller sizes")

    def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> F32:
        return rng.random(shape, np.float32)

    arrays = {
        matrix.name: samples.get(matrix.name, uniform)(generator, matrix.array_shape)
        for matrix in plan.operands
    }
    return as_operands(plan, arrays)


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
    """The result of a reference function in the form that `expected` returns; it raises alike."""
    shapes = {matrix.name: matrix.array_shape for matrix in plan.results}
    if not isinstance(given, Mapping):
        given = dict.fromkeys(shapes, given) if len(shapes) == 1 else {}
    if given.keys() != shapes.keys():
        raise InputError(
            f"the reference of {plan.name} gives {', '.join(map(str, given)) or 'no mapping'}; the "
            f"outputs are {', '.join(shapes)}"
        )
    arrays: dict[str, F64] = {}
    for name, values in given.items():
        what = f"{name} of the reference of {plan.name}"
        arrays[name] = as_numbers(what, values, "an array of real numbers").astype(np.float64)
        if arrays[name].shape != shapes[name]:
            raise InputError(
                f"{what} is {shape_in_words(arrays[name].shape)}; the output is "
                f"{shape_in_words(shapes[name])}"
            )
    return arrays


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

    It is absolute if that magnitude is 0. An element with a NaN counts as the farthest.
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
