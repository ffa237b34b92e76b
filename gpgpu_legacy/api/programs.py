"""Any fragment program on any textures: one rectangle drawn, and what came of it.

The program, its textures and its parameters become a plan of one pass, and an executor runs that
plan as it would any other.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Unpack, cast

import numpy as np

from gpgpu_legacy.api.drawing import DrawArguments, Drawing, make_drawing, whole_texture
from gpgpu_legacy.api.keywords import DrawKeywords, ProgramKeywords, as_machine, without_machine
from gpgpu_legacy.api.textures import Textures
from gpgpu_legacy.arguments import as_text
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.plan.plan import Blend
from gpgpu_legacy.plan.textures import Input, Matrix
from gpgpu_legacy.runtime.executor import Executor, Machine, Result
from gpgpu_legacy.runtime.registry import AUTO, find_executor, in_auto_order, reference

DEFAULT_MACHINE = Machine()

SMALL_WORK = 1 << 24
"""Fragments times instructions up to which the reference machine is done before a driver has
compiled the shader."""

_BEFORE = "before"
"""What the rectangle holds before, where that is an operand."""


def run_program(
    program: Program | str,
    width: int,
    height: int,
    textures: Textures | None = None,
    arguments: DrawArguments | None = None,
    *,
    executor: str = AUTO,
    machine: Machine | None = None,
    **keywords: Unpack[ProgramKeywords],
) -> F32:
    """Run a fragment program on every pixel of a rectangle.

    Returns (height, width, 4) float32; with `draw_buffers`, (n, height, width, 4). Row 0 is the
    bottom, as in a GL window: the fragment of pixel [y, x] has fragment.position
    (x + 0.5, y + 0.5, 0.5, 1).

    program: an assembled Program, or its text.
    textures: {unit: (target, array)} or {unit: (target, array, sampler)}, as in
    {0: ("RECT", array)} or {0: ("2D", array, "GL_LINEAR GL_REPEAT")}.
    arguments: everything that the program reads; see DrawArguments. Its fields may be given as
    keywords too: local, env, texcoords, color, secondary_color, fogcoord, state, clear, blend and
    draw_buffers.
    executor: its name. `auto` chooses the reference machine for small work, else the fastest
    executor that can run the program.
    machine: how the run computes. Its fields may be given as keywords: `exact=True` contracts no
    multiply-add; `arithmetic` names the format that each instruction's result is rounded to, one of
    fp32, fp24, fp16, fx12, rc9.

    Raises AssemblyError for a text that does not assemble, InputError for an argument that does not
    fit, and PlanError where the executor cannot run the program.

    >>> run_program("!!ARBfp1.0 MUL result.color, fragment.position, 2; END", 2, 1)[0, 1]
    array([3., 1., 1., 2.], dtype=float32)
    """
    read = cast("DrawKeywords", without_machine(keywords))
    drawing = make_drawing(program, width, height, textures, arguments, **read)
    _, result = run_drawing(drawing, executor, as_machine(machine, keywords))
    images = pictures(drawing, result)
    return images if drawing.keeps_buffers else images[0]


def run_drawing(
    drawing: Drawing, executor: str = AUTO, machine: Machine = DEFAULT_MACHINE
) -> tuple[Executor, Result]:
    """Run a drawing; which executor ran it, and the result. executor: as for run_program."""
    as_text("executor", executor, "an executor's name, such as 'auto'")
    if executor != AUTO:
        candidates = [find_executor(executor, drawing.plan)]
    elif drawing.work <= SMALL_WORK:
        candidates = [reference()]
    else:
        candidates = list(in_auto_order(drawing.plan))
    for candidate in candidates[:-1]:
        with suppress(PlanError):  # what one has no room for, the next may have
            return candidate, candidate.run(drawing.plan, drawing.operands, machine)
    last = candidates[-1]
    return last, last.run(drawing.plan, drawing.operands, machine)


def pictures(drawing: Drawing, result: Result) -> F32:
    """The colours of a run of a drawing: (buffers, height, width, 4) float32."""
    images = [
        result.outputs[target.name].reshape(target.extent.height, target.extent.width, 4)
        for target in drawing.targets
    ]
    return np.stack(images)


def discarded(drawing: Drawing, executor: Executor, machine: Machine = DEFAULT_MACHINE) -> int:
    """How many fragments KIL discards: those that keep two different clear colours."""
    if not drawing.program.kills:
        return 0
    plan, (_, region, target, rect, packing) = drawing.plan, whole_texture(drawing.targets[0])
    over = replace(
        plan,
        operands=(*plan.operands, Matrix(_BEFORE, region.rows, region.columns)),
        inputs=(*plan.inputs, Input(_BEFORE, region, target, rect, packing)),
        steps=(replace(drawing.draw, blend=Blend.NONE),),
    )
    kept: list[F32] = []
    with executor.prepare(over, machine) as prepared:
        for value in (0.0, 1.0):
            before = np.full((region.rows, region.columns), value, np.float32)
            result = prepared.run({**drawing.operands, _BEFORE: before})
            kept.append(pictures(drawing, result)[0, ..., 0])
    return int(((kept[0] == 0.0) & (kept[1] == 1.0)).sum())
