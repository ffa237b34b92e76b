"""The inputs of a plan: the caller's arrays, checked, or samples to try it with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.errors import InputError, as_whole, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.storage import Sample
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Format, Matrix, Numeric
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.runtime.prepared import Observer


def as_operands(
    plan: Plan, inputs: Mapping[str, ArrayLike], *, some: bool = False
) -> dict[str, F32]:
    """The inputs of a plan as float32 arrays in their own shapes.

    some: of them may be missing, and else none. Raises InputError for an input that is missing,
    unknown, not an array of real numbers, of another shape, or with values that its texture cannot
    hold.
    """
    wanted = matrices_of(plan, "input", plan.operands, inputs)
    given: dict[str, F32] = {}
    for name, matrix in wanted.items():
        if name in inputs:
            given[name] = _array(plan, name, inputs[name], matrix.array_shape)
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
    """The plan's inputs or outputs of these names; InputError for an unknown name."""
    known = {matrix.name: matrix for matrix in matrices}
    for name in asked:
        if name not in known:
            names = ", ".join(known) or "none"
            raise InputError(f"plan {plan.name} has no {what} {name}; its {what}s are {names}")
    return known


def _array(plan: Plan, name: str, values: ArrayLike, shape: tuple[int, ...]) -> F32:
    array = as_numbers(f"input {name}", values, "an array of real numbers")
    if array.shape != shape:
        raise InputError(
            f"input {name} is {shape_in_words(array.shape)}, but plan {plan.name} needs "
            f"{shape_in_words(shape)}"
        )
    return as_singles(f"input {name}", array)


def as_numbers(name: str, values: ArrayLike, wanted: str) -> NDArray[Any]:
    """An array of real numbers. wanted: in words, what to give if it is not one."""
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths; give {wanted}") from None
    if array.dtype.kind not in "fiub":
        held = _NO_NUMBERS.get(array.dtype.kind, f"values of type {array.dtype}")
        raise InputError(f"{name} holds {held}, not real numbers; give {wanted}")
    return array


def as_singles(name: str, array: NDArray[Any]) -> F32:
    """The numbers in float32; InputError for a finite one that it does not hold."""
    try:
        with np.errstate(over="raise"):
            return np.ascontiguousarray(array, np.float32)
    except FloatingPointError:
        largest = np.abs(array[np.isfinite(array)]).max()
        raise InputError(
            f"{name} has {largest:.4g}, and float32 ends at 3.4e38; scale it, or give inf"
        ) from None


_NO_NUMBERS = {"O": "objects", "U": "text", "S": "bytes", "c": "complex numbers"}


def _sampled_bytes(plan: Plan) -> int:
    """About how many bytes a plan takes with sampled inputs, one of them also as float64."""
    elements = [matrix.rows * matrix.columns for matrix in plan.operands]
    matrices = 4 * sum(elements) + 8 * max(elements, default=0)
    return matrices + plan.texture_bytes + sum(4 * m.rows * m.columns for m in plan.results)


def operands_of(
    p: PlanBuilder, plan: Plan, inputs: Mapping[str, ArrayLike] | None, seed: int = 0
) -> dict[str, F32]:
    """The given inputs, checked, or samples that depend on the seed. plan: of p."""
    return as_operands(plan, inputs) if inputs else sample_inputs(plan, p.samples, seed)


def replay(
    p: PlanBuilder, observer: Observer, inputs: Mapping[str, ArrayLike] | None = None
) -> None:
    """Run a plan on the reference machine, with all iterations of its loops, and show each pass.

    inputs: samples without any.
    """
    plan = replace(p.plan(), steps=p.plan().steps_at_most)
    reference().run(plan, operands_of(p, plan, inputs), observer=observer)


def sample_inputs(plan: Plan, samples: Mapping[str, Sample], seed: int = 0) -> dict[str, F32]:
    """Inputs to try a plan with: made by `samples` where it has a function, else uniform in [0, 1).

    The same seed gives the same inputs.
    """
    generator = np.random.default_rng(as_whole("seed", seed))
    require_memory(
        _sampled_bytes(plan), f"plan {plan.name} with its inputs", "build it for smaller sizes"
    )

    def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> F32:
        return rng.random(shape, np.float32)

    made = {
        matrix.name: samples.get(matrix.name, uniform)(generator, matrix.array_shape)
        for matrix in plan.operands
    }
    return as_operands(plan, made)
