"""A multichannel product, run so that every operand of its multiply-adds can be shown.

Every array was read back from an executor, by running the program up to some instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.ir import (
    Dst,
    Instruction,
    Parameter,
    ParameterSpace,
    ResultKind,
    ResultRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.present.result import Result
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.serial import Record
from gpgpu_legacy.studies.pages import EXACT, drawn_alone, matrices_for, write_picture

METHOD = find_product("hall-carr-hart-multi")

LARGEST = 8
"""Rows and columns of the largest matrices to draw: numbers of larger ones do not fit."""

# Small integers, so that a reader can follow every product: digits of e, pi, the golden section,
# and the roots of 2, 5, 3 and 7.
DEMONSTRATION_X = ((2, 7, 1, 8), (3, 1, 4, 1), (5, 9, 2, 6), (1, 6, 1, 8))

DEMONSTRATION_Y = ((1, 4, 1, 4), (2, 2, 3, 6), (1, 7, 3, 2), (2, 6, 4, 5))

CHANNELS = "rgba"


class Operand(Record):
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


class MultiplyAdd(Record):
    """One multiply-add of the program, for every fragment.

    product: of the swizzled operands, (H, W, 4). register: the one that accumulates. total: its
    value after the instruction, (H, W, 4).
    """

    x: Operand
    y: Operand
    product: F32
    register: str
    total: F32


class Demonstration(Result):
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

    def __repr__(self) -> str:
        return f"<multichannel: {self.sizes}, {len(self.multiply_adds)} multiply-adds>"

    @property
    def sizes(self) -> str:
        """Those of X and Y."""
        return "{}×{} times {}×{}".format(*self.x.shape, *self.y.shape)

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The multiply-adds of the typical fragment."""
        at = self.typical
        heads = ("X looked up", "Y looked up", "X swizzled", "Y swizzled", "product", "sum")
        rows = tuple(
            (
                *(f"{one.matrix}{one.place(at)}: {_text(one.texel[at])}" for one in (add.x, add.y)),
                *(f".{one.channels}: {_text(one.swizzled[at])}" for one in (add.x, add.y)),
                _text(add.product[at]),
                _text(add.total[at]),
            )
            for add in self.multiply_adds
        )
        caption = f"{METHOD.name}, {self.sizes}: the multiply-adds of fragment {at}."
        return [Grid("multichannel", caption, heads, rows)]

    def plot(self, path: Path) -> None:
        """Draw what the typical fragment does, or as a .gif what all do, one after another."""
        from gpgpu_legacy.studies.multichannel.plot import animated_multichannel, draw_multichannel

        write_picture(path, lambda: draw_multichannel(self), lambda: animated_multichannel(self))


def _text(texel: F32) -> str:
    return " ".join(f"{value:.4g}" for value in texel)


def demonstrate(
    executor: Executor,
    p: PlanBuilder | None = None,
    given: Mapping[str, ArrayLike] | None = None,
    seed: int | None = None,
) -> Demonstration:
    """Run hall-carr-hart-multi on an executor and keep the operands of its multiply-adds.

    p: what builds the product, of 1 to 8 rows and columns; 4×4 without. One pass computes the whole
    sum, whatever its block. given: A and B. Without them they are random integers from 0 to 9, or
    the picture's own where these fit and there is no seed. Raises InputError for other sizes, and
    for parameters other than the sizes.
    """
    p = p or METHOD.builder(n=len(DEMONSTRATION_X))
    sizes = {name: p.parameters[name] for name in ("m", "l", "n")}
    for name, value in p.parameters.items():
        if name not in sizes and value != METHOD.parameters[name].plain_default:
            raise InputError(f"{name} is the method's own here; leave {name} = {value} out")
    own = {"A": DEMONSTRATION_X, "B": DEMONSTRATION_Y}
    digits = dict.fromkeys(own, _digits)
    operands = matrices_for(p, LARGEST, given, own=own, samples=digits, seed=seed)
    plan = METHOD.plan(**sizes, block=-(-len(operands["B"]) // 2))
    extents = [plan.texture(name).extent for name in ("A", "B", "C")]
    x_half, y_half, z_half = ((extent.height, extent.width) for extent in extents)
    return Demonstration(
        x=operands["A"],
        y=operands["B"],
        z=executor.run(plan, operands, EXACT).outputs["C"],
        halves=(x_half, y_half, z_half),
        multiply_adds=tuple(_multiply_adds(executor, plan, operands)),
    )


def _digits(rng: np.random.Generator, shape: tuple[int, ...]) -> F32:
    return rng.integers(0, 10, shape).astype(np.float32)


_COLOR = Dst(ResultRegister(ResultKind.COLOR))

_NOTHING = Src(Parameter(ParameterSpace.CONSTANT))

_MATRICES = {"A": "X", "B": "Y"}  # the plan's names, and the equations'


def _multiply_adds(executor: Executor, plan: Plan, given: dict[str, F32]) -> Iterator[MultiplyAdd]:
    """The instructions that add to a product of two looked-up texels, in the program's order."""
    drawing = next(pass_ for pass_ in passes(plan) if isinstance(pass_, FragmentPass))
    instructions = drawing.program.instructions
    textures = {binding.unit: binding.texture for binding in drawing.bindings}
    looked_up: dict[Temporary, int] = {}

    def result(index: int, last: Instruction) -> F32:
        """What `last` writes in place of instruction `index`, where the program then ends."""
        program = replace(drawing.program, instructions=(*instructions[:index], last))
        return drawn_alone(executor, plan, replace(drawing, program=program), given)

    def value(index: int, src: Src) -> F32:
        """A source operand as instruction `index` would fetch it, (H, W, 4)."""
        return result(index, Instruction("MOV", _COLOR, (src,)))

    def operand(index: int, src: Src) -> Operand:
        assert isinstance(src.register, Temporary)
        at = looked_up[src.register]
        lookup = instructions[at]
        assert lookup.texture is not None
        place = np.floor(value(at, lookup.srcs[0]))
        return Operand(
            matrix=_MATRICES[textures[lookup.texture.unit]],
            register=src.register.name,
            channels="".join(CHANNELS[selector.value] for selector in src.swizzle),
            rows=place[..., 1],
            columns=place[..., 0],
            texel=value(index, Src(src.register)),
            swizzled=value(index, src),
        )

    for index, instruction in enumerate(instructions):
        target = instruction.dst and instruction.dst.register
        if not isinstance(target, Temporary):
            continue
        factors = instruction.srcs[:-1]
        if len(factors) == 2 and all(src.register in looked_up for src in factors):
            alone = replace(instruction, dst=_COLOR, srcs=(*factors, _NOTHING))
            x, y = (operand(index, src) for src in factors)
            yield MultiplyAdd(
                x=x,
                y=y,
                product=result(index, alone),
                register=target.name,
                total=value(index + 1, Src(target)),
            )
        looked_up.pop(target, None)
        if OPCODES[instruction.mnemonic].form is Form.SAMPLE:
            looked_up[target] = index
