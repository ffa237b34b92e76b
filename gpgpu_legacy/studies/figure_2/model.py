"""A Larson-McAllister product, run so that a figure can show each pass.

Every array was read back from an executor; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.operands import random_operands
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.arguments import shape_in_words
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.formats import UNORM8
from gpgpu_legacy.plan.plan import Blend, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32

METHOD = find_method("larson-mcallister")

LARGEST_DEMONSTRATION = 16
"""Rows and columns of the largest matrices to draw: texels of larger ones cannot be counted."""

# The paper's text gives no numbers, so these are ours. They are eighths: float32 holds every
# product and sum exactly, and all executors draw the same picture.
DEMONSTRATION_A = (
    (1.000, 0.250, 0.375, 0.750),
    (0.125, 0.750, 0.625, 0.250),
    (0.750, 0.125, 1.000, 0.375),
    (0.250, 0.625, 0.125, 1.000),
)

DEMONSTRATION_B = (
    (0.750, 0.125, 0.375, 1.000),
    (0.250, 0.875, 0.625, 0.125),
    (0.625, 0.375, 0.125, 0.750),
    (0.125, 0.750, 1.000, 0.250),
)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One pass: four m×n float32 arrays, row 0 first.

    column: column i of A, replicated. row: row i of B, replicated. product: column times row.
    framebuffer: its contents after the pass, the sum so far.
    """

    column: F32
    row: F32
    product: F32
    framebuffer: F32


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """A Larson-McAllister product, pass by pass.

    a, b: the operands, m×l and l×n float32, not transposed. options: with the method's defaults
    filled in. frames: one for each pass.
    """

    a: F32
    b: F32
    options: Options
    frames: tuple[Frame, ...]

    @property
    def shape(self) -> Shape:
        """m, l and n."""
        return _shape(self.a, self.b)


def demonstrate(
    executor: Executor,
    a: ArrayLike = DEMONSTRATION_A,
    b: ArrayLike = DEMONSTRATION_B,
    options: Options | None = None,
) -> Demonstration:
    """Run larson-mcallister on an executor, and keep what the figure shows of every pass.

    a, b: matrices of 1 to 16 rows and columns, transposed if the options say so.
    Raises InputError for other sizes, for sizes that do not match and for options that the method
    does not have.
    """
    chosen = METHOD.options(options or Options())
    given = {"A": _matrix("A", a), "B": _matrix("B", b)}
    used_a = given["A"].T if chosen.transpose_a else given["A"]
    used_b = given["B"].T if chosen.transpose_b else given["B"]
    shape = _shape(used_a, used_b)
    if used_b.shape[0] != shape.l:
        raise InputError(
            f"A has {shape.l} columns and B has {used_b.shape[0]} rows; they must be equal"
        )
    if max(used_a.shape + used_b.shape) > chosen.largest_texture:
        raise InputError(
            f"the demonstration shows one framebuffer; a largest texture of "
            f"{chosen.largest_texture} would cut the matrices, so leave it out"
        )
    plan = METHOD.plan(shape, chosen)
    return Demonstration(used_a, used_b, chosen, _frames(executor, plan, given))


def random_demonstration(shape: Shape, options: Options, seed: int) -> tuple[F32, ...]:
    """Random operands of that shape, uniform in [0, 1), transposed if the options say so."""
    for name, size in (("A", (shape.m, shape.l)), ("B", (shape.l, shape.n))):
        _check_size(name, size)
    return random_operands(shape, replace(options, texture_format=UNORM8.name), seed)


def _shape(a: F32, b: F32) -> Shape:
    return Shape(a.shape[0], a.shape[1], b.shape[1])


def _matrix(name: str, values: ArrayLike) -> F32:
    matrix = np.array(values, np.float32)
    _check_size(name, matrix.shape)
    return _frozen(matrix)


def _check_size(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or not all(1 <= size <= LARGEST_DEMONSTRATION for size in shape):
        raise InputError(
            f"{name} is {shape_in_words(shape)}; the demonstration draws matrices of 1 to "
            f"{LARGEST_DEMONSTRATION} rows and columns"
        )


def _frozen(values: F32) -> F32:
    """A read-only copy."""
    copy = np.array(values, np.float32)
    copy.setflags(write=False)
    return copy


# Frames are the same on every machine: nothing is contracted or reordered.
_MACHINE = Machine(exact=True, denormals=False)


def _frames(executor: Executor, plan: Plan, given: dict[str, F32]) -> tuple[Frame, ...]:
    framebuffers: list[F32] = []

    def observe(_: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        if isinstance(pass_, FragmentPass):
            framebuffers.append(_frozen(read(pass_.target)[..., 0]))

    executor.run(plan, given, _MACHINE, observe)
    drawn = [pass_ for pass_ in passes(plan) if isinstance(pass_, FragmentPass)]

    def alone(pass_: FragmentPass, program: Program) -> F32:
        """What the pass draws with another program, onto an empty framebuffer."""
        one_pass = replace(plan, steps=(replace(pass_, program=program, blend=Blend.NONE),))
        validate(one_pass)
        return _frozen(executor.run(one_pass, given, _MACHINE).outputs["C"])

    column, row = _lookup(0), _lookup(1)
    return tuple(
        Frame(alone(pass_, column), alone(pass_, row), alone(pass_, pass_.program), framebuffer)
        for pass_, framebuffer in zip(drawn, framebuffers, strict=True)
    )


def _lookup(unit: int) -> Program:
    """A program that shows one texture, looked up where the pass looks it up."""
    lookup = f"TEX result.color, fragment.texcoord[{unit}], texture[{unit}], RECT;"
    return assemble(f"!!ARBfp1.0\n{lookup}\nEND\n", f"lookup of unit {unit}")
