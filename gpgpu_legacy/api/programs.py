"""Any fragment program on any textures: one rectangle drawn, and what came of it.

The program, its textures and its parameters become a plan of one pass, and an executor runs that
plan as it would any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.api.drawing import Drawing, make_drawing, whole_texture
from gpgpu_legacy.api.textures import Textures
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, Arithmetic
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.plan.plan import (
    Blend,
    Input,
    Matrix,
)
from gpgpu_legacy.runtime.executor import Executor, Machine, Result
from gpgpu_legacy.runtime.registry import AUTO, find_executor, in_auto_order, reference

F32 = NDArray[np.float32]

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
    *,
    local: Mapping[int, ArrayLike] | None = None,
    env: Mapping[int, ArrayLike] | None = None,
    texcoords: Mapping[int, ArrayLike] | None = None,
    color: ArrayLike | None = None,
    secondary_color: ArrayLike | None = None,
    fogcoord: ArrayLike | None = None,
    state: Mapping[str, Any] | None = None,
    clear: ArrayLike = (0.0, 0.0, 0.0, 0.0),
    blend: Blend | str = Blend.NONE,
    draw_buffers: int | None = None,
    executor: str = AUTO,
    exact: bool = False,
    arithmetic: str = "fp32",
) -> F32:
    """Run a fragment program on every pixel of a rectangle: (height, width, 4) float32.

    Row 0 is the bottom, as in GL's window: the fragment of pixel [y, x] has fragment.position
    (x + 0.5, y + 0.5, 0.5, 1).

    program: assembled, or its text.
    textures: {unit: (target, array)} or {unit: (target, array, sampler)}. The target is one of 1D
    (array [W, 4]), 2D and RECT ([H, W, 4]), 3D ([D, H, W, 4]) and CUBE ([6, N, N, 4], in the order
    +x, -x, +y, -y, +z, -z), and is the one that the program looks the unit up with. Values are
    taken as they are, in float32; there may be 1 to 4 channels, or one and no axis for it, and
    those missing read as 0, 0, 1. The sampler is a filter and a wrap by GL's names, as in
    `"GL_LINEAR GL_REPEAT"`, `("linear", "repeat", "clamp")` (a wrap for each coordinate) or
    `{"filter": "GL_LINEAR", "wrap_s": "GL_CLAMP"}`; without it, nearest and clamp to edge. There is
    one level: no mipmaps. A RECT texture does not repeat, and a CUBE always clamps to its edges.
    local, env: {index: four numbers}, program.local[index] and program.env[index]; else 0.
    texcoords: {set: (4, 4) values at the corners (0, 0), (W, 0), (W, H), (0, H)}; components left
    out are those of (0, 0, 0, 1), and four numbers alone hold everywhere. Set 0 defaults to pixel
    coordinates, (0, 0, 0, 1) to (W, H, 0, 1), so that it reads texel centres of a RECT texture;
    the others to (0, 0, 0, 1).
    color, secondary_color: four numbers, or (4, 4) values at the corners; (1, 1, 1, 1) and
    (0, 0, 0, 1) by default. They are not clamped. fogcoord: a number, or one at each corner.
    state: {name: four numbers, or a 4×4 matrix}, as in {"state.fog.color": (1, 0, 0, 1)}; what is
    not given has GL's initial value.
    clear: what the rectangle holds before, and keeps where KIL discards. blend: `add` adds the
    program's colour to it.
    draw_buffers: n gives result.color[0] to [n - 1], as (n, height, width, 4).
    executor: by name. `auto` is the reference machine for what it does at once, and the
    fastest that can do it for more. exact: no multiply-add is contracted. arithmetic: the format
    that results of instructions are rounded to: fp32, fp24, fp16, fx12, rc9.

    Raises AssemblyError for a text that does not assemble, InputError for an argument that does not
    fit, PlanError where the executor cannot do it.

    >>> run_program("!!ARBfp1.0 MUL result.color, fragment.position, 2; END", 2, 1)[0, 1]
    array([3., 1., 1., 2.], dtype=float32)
    """
    drawing = make_drawing(
        program, width, height, textures, local=local, env=env, texcoords=texcoords,
        color=color, secondary_color=secondary_color, fogcoord=fogcoord, state=state,
        clear=clear, blend=blend, draw_buffers=draw_buffers,
    )  # fmt: skip
    _, result = run_drawing(drawing, executor, exact=exact, arithmetic=arithmetic)
    images = pictures(drawing, result)
    return images if draw_buffers is not None else images[0]


def run_drawing(
    drawing: Drawing, executor: str = AUTO, *, exact: bool = False, arithmetic: str = "fp32"
) -> tuple[Executor, Result]:
    """Run a drawing; which executor did it, and what it gave. Arguments as for run_program."""
    machine = Machine(exact, find_arithmetic(arithmetic))
    if executor != AUTO:
        chosen = [find_executor(executor, drawing.plan)]
    elif drawing.work <= SMALL_WORK:
        chosen = [reference()]
    else:
        chosen = list(in_auto_order(drawing.plan))
    for one in chosen[:-1]:
        with suppress(PlanError):  # what one has no room for, the next may have
            return one, one.run(drawing.plan, drawing.operands, machine)
    return chosen[-1], chosen[-1].run(drawing.plan, drawing.operands, machine)


def find_arithmetic(name: str) -> Arithmetic:
    """The arithmetic of that name; InputError where there is none."""
    if not isinstance(name, str) or name not in ARITHMETICS:
        raise InputError(f"arithmetic is {name!r}; choose from {', '.join(ARITHMETICS)}")
    return ARITHMETICS[name]


def pictures(drawing: Drawing, result: Result) -> F32:
    """What a run of a drawing gave: (buffers, height, width, 4) float32."""
    images = [
        result.outputs[target.name].reshape(target.extent.height, target.extent.width, 4)
        for target in drawing.targets
    ]
    return np.stack(images)


def discarded(
    drawing: Drawing, executor: Executor, *, exact: bool = False, arithmetic: str = "fp32"
) -> int:
    """How many fragments KIL discards: those that keep what they are drawn over, twice."""
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
    with executor.prepare(over, Machine(exact, find_arithmetic(arithmetic))) as prepared:
        for value in (0.0, 1.0):
            before = np.full((region.rows, region.columns), value, np.float32)
            result = prepared.run({**drawing.operands, _BEFORE: before})
            kept.append(pictures(drawing, result)[0, ..., 0])
    return int(((kept[0] == 0.0) & (kept[1] == 1.0)).sum())
