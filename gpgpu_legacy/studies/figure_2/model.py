"""A Larson-McAllister product, run so that a figure can show each pass.

Every array was read back from an executor; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.parameters import Plain
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import Blend, FragmentPass, Pass
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.present.result import Result
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.serial import Record
from gpgpu_legacy.studies.pages import EXACT, drawn_alone, matrices_for, write_picture

METHOD = find_product("larson-mcallister")

LARGEST = 16
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


class Frame(Record):
    """One pass: four m×n float32 arrays, row 0 first.

    column: column i of A, replicated. row: row i of B, replicated. product: column times row.
    framebuffer: its contents after the pass, the sum so far.
    """

    column: F32
    row: F32
    product: F32
    framebuffer: F32


class Demonstration(Result):
    """A Larson-McAllister product, pass by pass.

    a, b: the operands, m×l and l×n float32, not transposed. frames: one for each pass.
    """

    parameters: Mapping[str, Plain]
    a: F32
    b: F32
    frames: tuple[Frame, ...]

    def __repr__(self) -> str:
        return f"<figure-2: {self.sizes}, {len(self.frames)} passes>"

    @property
    def sizes(self) -> str:
        """Those of A and B."""
        return "{}×{} times {}×{}".format(*self.a.shape, *self.b.shape)

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The passes: the column and the row that each takes, and the framebuffer after it."""
        heads = ("pass", "column of A", "row of B", "framebuffer, row by row")
        rows = tuple(
            (number, _text(frame.column[:, 0]), _text(frame.row[0]), _text(frame.framebuffer))
            for number, frame in enumerate(self.frames, 1)
        )
        caption = f"{METHOD.name}, {self.sizes}, pass by pass; --plot draws it."
        return [Grid("figure-2", caption, heads, rows)]

    def plot(self, path: Path) -> None:
        """Draw the passes one below the other, or as a .gif one after another."""
        from gpgpu_legacy.studies.figure_2.plot import animated_figure_2, draw_figure_2

        write_picture(path, lambda: draw_figure_2(self), lambda: animated_figure_2(self))


def _text(values: F32) -> str:
    """Numbers in rows."""
    return "; ".join(" ".join(f"{v:.3g}" for v in row) for row in np.atleast_2d(values))


def demonstrate(
    executor: Executor,
    p: PlanBuilder | None = None,
    given: Mapping[str, ArrayLike] | None = None,
    seed: int | None = None,
) -> Demonstration:
    """Run larson-mcallister on an executor, and keep what the figure shows of every pass.

    p: what builds the product, of 1 to 16 rows and columns; 4×4 without. given: A and B. Without
    them they are random, or the figure's own where these fit and there is no seed.
    Raises InputError for other sizes, and for a product of several framebuffers.
    """
    p = p or METHOD.builder(n=len(DEMONSTRATION_A))
    own, plan = {"A": DEMONSTRATION_A, "B": DEMONSTRATION_B}, p.plan()
    drawn = [pass_ for pass_ in passes(plan) if isinstance(pass_, FragmentPass)]
    if len(p.operands) > len(own) or len({pass_.targets for pass_ in drawn}) > 1:
        raise InputError(
            "the picture shows one framebuffer that adds up A × B; leave alpha, beta and "
            "largest_texture out"
        )
    operands = matrices_for(p, LARGEST, given, own=own, samples={}, seed=seed)
    sums: list[F32] = []

    def observe(_: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        if isinstance(pass_, FragmentPass):
            sums.append(np.array(read(pass_.target)[..., 0]))

    executor.run(plan, operands, EXACT, observe)

    def alone(pass_: FragmentPass, program: Program) -> F32:
        """What the pass draws with another program, onto an empty framebuffer."""
        drawing = replace(pass_, program=program, blend=Blend.NONE)
        return drawn_alone(executor, plan, drawing, operands)[..., 0]

    column, row = map(_lookup, range(2))
    frames = tuple(
        Frame(
            column=alone(pass_, column),
            row=alone(pass_, row),
            product=alone(pass_, pass_.program),
            framebuffer=framebuffer,
        )
        for pass_, framebuffer in zip(drawn, sums, strict=True)
    )
    a, b = (
        operands[name].T if p.parameters[f"transpose_{name.lower()}"] else operands[name]
        for name in own
    )
    return Demonstration(parameters=p.parameters, a=a, b=b, frames=frames)


def _lookup(unit: int) -> Program:
    """A program that shows one texture, looked up where the pass looks it up."""
    lookup = f"TEX result.color, fragment.texcoord[{unit}], texture[{unit}], RECT;"
    return assemble(f"!!ARBfp1.0\n{lookup}\nEND\n", f"lookup of unit {unit}")
