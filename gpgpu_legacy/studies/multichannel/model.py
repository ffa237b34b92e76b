"""A multichannel product, run so that every operand of its multiply-adds can be shown.

Every array was read back from an executor, by running the program up to some instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.arguments import as_whole, shape_in_words
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import (
    Dst,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import FragmentPass, Pass, Plan
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32

METHOD = find_method("hall-carr-hart-multi")

LARGEST_DEMONSTRATION = 8
"""Rows and columns of the largest matrices to draw: numbers of larger ones do not fit."""

# Small integers, so that a reader can follow every product: digits of e, pi, the golden section,
# and the roots of 2, 5, 3 and 7.
DEMONSTRATION_X = ((2, 7, 1, 8), (3, 1, 4, 1), (5, 9, 2, 6), (1, 6, 1, 8))

DEMONSTRATION_Y = ((1, 4, 1, 4), (2, 2, 3, 6), (1, 7, 3, 2), (2, 6, 4, 5))

CHANNELS = "rgba"


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A factor of a multiply-add, for each of H×W fragments, row 0 first.

    matrix: X or Y. register: the one that holds the texel. channels: the swizzle, in r, g, b and a.
    rows, columns: (H, W), which texel was looked up. texel: (H, W, 4). swizzled: (H, W, 4), as it
    is multiplied.
    """

    matrix: str
    register: str
    channels: str
    rows: F32
    columns: F32
    texel: F32
    swizzled: F32

    def place(self, fragment: tuple[int, int]) -> tuple[int, int]:
        """The row and column of the texel that a fragment looked up."""
        return int(self.rows[fragment]), int(self.columns[fragment])


@dataclass(frozen=True, slots=True, eq=False)
class MultiplyAdd:
    """One multiply-add of the program, for every fragment.

    product: of the swizzled operands, (H, W, 4). register: the one that accumulates. total: its
    value after the instruction, (H, W, 4).
    """

    x: Operand
    y: Operand
    product: F32
    register: str
    total: F32


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """A multichannel product in one pass, instruction by instruction.

    x, y, z: the operands and the product, float32. halves: rows and columns of a quadrant, padding
    included, of each of the three.
    """

    x: F32
    y: F32
    z: F32
    halves: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    multiply_adds: tuple[MultiplyAdd, ...]

    @property
    def fragments(self) -> tuple[tuple[int, int], ...]:
        """The row and column of every fragment, row by row."""
        return tuple(np.ndindex(self.halves[2]))

    @property
    def typical(self) -> tuple[int, int]:
        """A fragment whose row and column differ, if there is one."""
        return self.fragments[min(1, self.halves[2][1] - 1)]


def demonstrate(
    executor: Executor, x: ArrayLike = DEMONSTRATION_X, y: ArrayLike = DEMONSTRATION_Y
) -> Demonstration:
    """Run hall-carr-hart-multi on an executor and keep the operands of its multiply-adds.

    x, y: matrices of 1 to 8 rows and columns. One pass computes the whole sum.
    Raises InputError for other sizes and for sizes that do not match.
    """
    left, right = _matrix("X", x), _matrix("Y", y)
    shape = Shape(left.shape[0], left.shape[1], right.shape[1])
    if right.shape[0] != shape.l:
        raise InputError(
            f"X has {shape.l} columns and Y has {right.shape[0]} rows; they must be equal"
        )
    plan = METHOD.plan(shape, Options(block=-(-shape.l // 2)))
    probe = _Probe(executor, plan, {"A": left, "B": right})
    z = executor.run(plan, probe.given, _MACHINE).outputs["C"]
    extents = [plan.texture(name).extent for name in ("A", "B", "C")]
    x_half, y_half, z_half = ((extent.height, extent.width) for extent in extents)
    return Demonstration(left, right, z, (x_half, y_half, z_half), tuple(_multiply_adds(probe)))


def random_demonstration(shape: Shape, seed: int) -> tuple[F32, F32]:
    """Random operands of that shape: integers from 0 to 9."""
    for name, size in (("X", (shape.m, shape.l)), ("Y", (shape.l, shape.n))):
        _check_size(name, size)
    generator = np.random.default_rng(as_whole("seed", seed))
    x = generator.integers(0, 10, (shape.m, shape.l)).astype(np.float32)
    y = generator.integers(0, 10, (shape.l, shape.n)).astype(np.float32)
    return x, y


def _matrix(name: str, values: ArrayLike) -> F32:
    matrix = np.array(values, np.float32)
    _check_size(name, matrix.shape)
    return matrix


def _check_size(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or not all(1 <= size <= LARGEST_DEMONSTRATION for size in shape):
        raise InputError(
            f"{name} is {shape_in_words(shape)}; the picture shows matrices of 1 to "
            f"{LARGEST_DEMONSTRATION} rows and columns"
        )


# The numbers are the same on every machine: nothing is contracted or reordered.
_MACHINE = Machine(exact=True, denormals=False)

_COLOR = Dst(ResultRegister(ResultKind.COLOR))

_NOTHING = Src(Parameter(ParameterSpace.CONSTANT))

_MATRICES = {"A": "X", "B": "Y"}  # the plan's names, and the equations'


@dataclass(frozen=True, slots=True, eq=False)
class _Probe:
    """Runs the only pass of a plan up to an instruction, and reads what it has computed."""

    executor: Executor
    plan: Plan
    given: dict[str, F32]

    @property
    def drawing(self) -> FragmentPass:
        return next(pass_ for pass_ in passes(self.plan) if isinstance(pass_, FragmentPass))

    @property
    def program(self) -> Program:
        return self.drawing.program

    def matrix(self, unit: int) -> str:
        """The matrix in a texture image unit: X or Y."""
        name = next(b.texture for b in self.drawing.bindings if b.unit == unit)
        return _MATRICES[name]

    def value(self, index: int, src: Src) -> F32:
        """A source operand as instruction `index` would fetch it, (H, W, 4)."""
        return self.result(index, Instruction("MOV", _COLOR, (src,)))

    def result(self, index: int, last: Instruction) -> F32:
        """What `last` writes in place of instruction `index`, where the program then ends."""
        program = replace(self.program, instructions=(*self.program.instructions[:index], last))
        drawing = replace(self.drawing, program=program)
        shortened = replace(self.plan, steps=(drawing,))
        validate(shortened)
        seen: list[F32] = []

        def observe(_: int, pass_: Pass, read: Callable[[str], F32]) -> None:
            seen.append(np.array(read(drawing.target)))

        self.executor.run(shortened, self.given, _MACHINE, observe)
        return seen[-1]


def _multiply_adds(probe: _Probe) -> Iterator[MultiplyAdd]:
    """The instructions that add to a product of two looked-up texels, in the program's order."""
    looked_up: dict[Temporary, int] = {}
    for index, instruction in enumerate(probe.program.instructions):
        factors = [src.register for src in instruction.srcs[:-1]]
        if len(factors) == 2 and all(factor in looked_up for factor in factors):
            yield _multiply_add(probe, index, looked_up)
        if instruction.dst is None or not isinstance(instruction.dst.register, Temporary):
            continue
        looked_up.pop(instruction.dst.register, None)
        if OPCODES[instruction.mnemonic].form is Form.SAMPLE:
            looked_up[instruction.dst.register] = index


def _multiply_add(probe: _Probe, index: int, looked_up: dict[Temporary, int]) -> MultiplyAdd:
    instruction = probe.program.instructions[index]
    assert instruction.dst is not None and isinstance(instruction.dst.register, Temporary)
    first, second, _ = instruction.srcs
    alone = replace(instruction, dst=_COLOR, srcs=(first, second, _NOTHING))
    return MultiplyAdd(
        _operand(probe, index, first, looked_up),
        _operand(probe, index, second, looked_up),
        probe.result(index, alone),
        instruction.dst.register.name,
        probe.value(index + 1, Src(instruction.dst.register)),
    )


def _operand(probe: _Probe, index: int, src: Src, looked_up: dict[Temporary, int]) -> Operand:
    assert isinstance(src.register, Temporary)
    lookup = probe.program.instructions[looked_up[src.register]]
    assert lookup.texture is not None
    place = np.floor(probe.value(looked_up[src.register], lookup.srcs[0]))
    return Operand(
        probe.matrix(lookup.texture.unit),
        src.register.name,
        "".join(CHANNELS[selector.value] for selector in src.swizzle),
        place[..., 1],
        place[..., 0],
        probe.value(index, Src(src.register)),
        probe.value(index, src),
    )
