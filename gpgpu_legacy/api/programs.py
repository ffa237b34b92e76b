"""Any fragment program on any textures: draws one rectangle and describes the result.

The program, its textures and its parameters become a plan, of one pass or of many that feed one
texture back, and an executor runs that plan like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from gpgpu_legacy.api.branching import Branching, branching_grids, branching_of
from gpgpu_legacy.api.drawing import Drawing, DrawingKeywords, make_drawing
from gpgpu_legacy.api.run import execute, warn_of_undefined, with_machine
from gpgpu_legacy.api.trace import Trace, trace
from gpgpu_legacy.door import public
from gpgpu_legacy.errors import warn
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.lower.analysis.program_warnings import program_warnings
from gpgpu_legacy.plan.plan import FragmentPass, Pass
from gpgpu_legacy.present.animation import check_size, texel_animation_writer
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.runtime.executor import AUTO, Executor
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Machine
from gpgpu_legacy.runtime.prepared import Observer, RunResult, Timings
from gpgpu_legacy.serial import Record, fields_of


class ProgramKeywords(DrawingKeywords, total=False):
    """The keywords of run_program: those of a drawing, and a Machine's fields."""

    exact: bool
    arithmetic: Any
    tuning: Any
    denormals: bool


@public
def run_program(
    program: Program | Path | str,
    width: int,
    height: int,
    textures: Mapping[Any, Any] | None = None,
    *,
    executor: str = AUTO,
    machine: Machine | None = None,
    **keywords: Unpack[ProgramKeywords],
) -> F32:
    """Run a fragment program on every pixel of a rectangle.

    Returns (height, width, 4) float32; with `draw_buffers`, (n, height, width, 4). Row 0 is the
    bottom, as in a GL window: the fragment of pixel [y, x] has fragment.position
    (x + 0.5, y + 0.5, 0.5, 1).

    program: its text or its file in any shader language, or a Program; see `assemble`.
    width, height: of the rectangle in pixels.
    textures: {unit: array}, {unit: (target, array)} or {unit: (target, array, sampler)}; instead of
    a unit, the name of a sampler in the source.
    target: 1D, 2D, RECT, 3D or CUBE, as the program looks the unit up.
    array: [W, 4] for 1D, [H, W, 4] for 2D and RECT, [D, H, W, 4] for 3D, and [6, N, N, 4] for CUBE,
    its faces in the order +x, -x, +y, -y, +z, -z. Any real numbers, converted to float32. The last
    axis may have 1 to 4 channels, or be absent for one channel; missing channels read as 0, 0, 1.
    A list of arrays has the levels of a mipmap. Levels that the sampler reads and that are not
    given are generated: each texel is the mean of two along each axis. A unit without a texture
    reads (0, 0, 0, 1).
    sampler: a filter and a wrap by GL's names, such as `"GL_LINEAR GL_REPEAT"`, or
    `("linear", "repeat", "clamp")` with a wrap for each coordinate. Of two filters the first is for
    minification. More words are `border=r:g:b:a`, `bias=0.5`, `min-lod`, `max-lod`, `base-level`
    and `max-level`. The default is nearest and clamp to edge. One more word is the texture's
    format, as in `"nearest luminance32f"`, with GL's names, too: `GL_RGBA8`, `GL_LUMINANCE32F_ARB`.
    The default is rgba32f. Of an array with other channels than the format's, luminance and
    intensity take red, and alpha takes alpha.
    A RECT texture cannot repeat; a CUBE always clamps to the edges of a face.

    keywords: those of DrawingKeywords: uniforms, local, env, texcoords, color, secondary_color,
    fogcoord, state, clear, blend, mask, scissor, alpha_test, draw_buffers, passes and feedback.
    With passes=n and feedback=u, the program runs n times, and its output replaces the texture of
    unit u before the next run. executor: its name. `auto` chooses the reference machine for small
    work, else the fastest executor that can run the program. machine: how the run computes. Its
    fields may be given as keywords: `exact=True` gives the reference's bits or refuses;
    `arithmetic` names the format that each instruction's result is rounded to: fp32, fp24, fp16,
    fx12, rc9 or ff8; `fp24-chop` and the like chop results.

    Raises AssemblyError for a text that does not assemble, InputError for an argument that does not
    fit, and PlanError if the executor cannot run the program.

    >>> run_program("!!ARBfp1.0 MUL result.color, fragment.position, 2; END", 2, 1)[0, 1]
    array([3., 1., 1., 2.], dtype=float32)
    """
    how, read = with_machine(machine, keywords)
    drawing = make_drawing(program, width, height, textures, **read)
    warn_about(drawing)
    _, images, _ = run_drawing(drawing, executor, how)
    return images if drawing.keeps_buffers else images[0]


def warn_about(drawing: Drawing) -> None:
    """Issue a GpgpuLegacyWarning for each probable mistake in a program's inputs."""
    given = drawing.given
    for text in program_warnings(
        drawing.program,
        local_set=given["local"],
        env_set=given["env"],
        units_bound=given["textures"],
        pixel_sets=() if 0 in given.get("texcoords", {}) else (0,),
    ):
        warn(text)


def run_drawing(
    drawing: Drawing,
    executor: str = AUTO,
    machine: Machine = DEFAULT_MACHINE,
    observer: Observer | None = None,
) -> tuple[Executor, F32, RunResult]:
    """Run a drawing: returns the executor, the colours (buffers, H, W, 4), and the result.

    It warns of results that the specification leaves undefined. executor: as for run_program.
    observer: called after each pass.
    """
    plan, operands = drawing.plan, dict(drawing.operands)
    chosen, result = execute(plan, operands, executor, machine, observer=observer)
    warn_of_undefined(plan, operands, machine, result)
    return chosen, np.stack([*result.outputs.values()]), result


def frames_of(drawing: Drawing, path: Path, scale: int = 1) -> tuple[Observer, Callable[[], None]]:
    """An observer that keeps what each pass draws, and a function that writes it as an animation.

    path: a .gif, .png or .apng; scale: pixels along each side of a texel. Raises InputError, before
    anything is run, for a path that cannot be written and for more than LARGEST_ANIMATION pixels.
    """
    write = texel_animation_writer(path, scale)
    width, height = drawing.rect.width * scale, drawing.rect.height * scale
    check_size(width, height, drawing.passes)
    frames: list[F32] = []

    def keep(_number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        if isinstance(pass_, FragmentPass):
            frames.append(read(pass_.target))

    return keep, lambda: write(frames)


def last_pass(
    drawing: Drawing, executor: str = AUTO, machine: Machine = DEFAULT_MACHINE
) -> dict[str, Any]:
    """The last pass by itself, with the texture that the passes before it fed back."""
    given, unit = dict(drawing.given), drawing.given["feedback"]
    if unit is not None and drawing.passes > 1:
        image = _again(drawing, {**given, "passes": drawing.passes - 1}, executor, machine)
        target, _, *sampler = given["textures"][unit]
        given["textures"] = {**given["textures"], unit: (target, image, *sampler)}
    return {**given, "passes": None, "feedback": None}


def _again(drawing: Drawing, given: Mapping[str, Any], executor: str, machine: Machine) -> F32:
    """What the program draws on the same rectangle when given something else."""
    rect = drawing.rect
    other = make_drawing(drawing.program, rect.width, rect.height, **given)
    _, result = execute(other.plan, dict(other.operands), executor, machine)
    return next(iter(result.outputs.values()))


_PLAIN: Mapping[str, Any] = {"blend": None, "mask": "rgba", "scissor": None}


def discarded(drawing: Drawing, executor: Executor, machine: Machine = DEFAULT_MACHINE) -> int:
    """The number of fragments that the last pass discards: they keep two clear colours."""
    if not (drawing.program.kills or "alpha_test" in drawing.given):
        return 0
    alone = last_pass(drawing, executor.name, machine)
    keeps = np.ones((drawing.rect.height, drawing.rect.width), bool)
    for value in (0.0, 1.0):
        over = {**alone, "clear": (value,) * 4, **_PLAIN}
        keeps &= _again(drawing, over, executor.name, machine)[..., 0] == value
    return int(keeps.sum())


def trace_drawing(
    drawing: Drawing,
    texel: tuple[int, int],
    executor: str = AUTO,
    machine: Machine = DEFAULT_MACHINE,
) -> Trace:
    """The fragment of a texel through every instruction of every pass."""
    return trace(
        drawing.builder,
        texel,
        drawing.operands,
        [target.name for target in drawing.targets] if drawing.keeps_buffers else (),
        executor=executor,
        machine=machine,
        instructions=True,
    )


# The result of `exec` ---------------------------------------------------------------------------


class Channel(Record):
    """Range and mean of a channel's finite values (None without any); how many are not finite."""

    min: float | None
    max: float | None
    mean: float | None
    not_finite: int


class ProgramRun(Result):
    """A run of a program.

    size: width and height in pixels. discarded: by KIL, fragments of the last pass. buffers: the
    channels r, g, b and a of each draw buffer. branching: as of a Run.
    """

    program: str
    executor: str
    device: str
    size: tuple[int, int]
    seconds: Timings
    discarded: int
    buffers: tuple[dict[str, Channel], ...]
    branching: tuple[Branching, ...] = ()

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A table for each draw buffer."""
        (width, height), seconds = self.size, self.seconds
        notes = (
            f"Run by {self.executor} on {self.device} in {seconds.compute_s * 1e3:.4g} ms, "
            f"prepared in {seconds.prepare_s * 1e3:.4g} ms.",
            f"{self.discarded} of {width * height} fragments discarded.",
        )
        heads = ("channel", "min", "max", "mean", "not finite")
        last = len(self.buffers) - 1
        return [
            Grid(
                f"buffer-{number}",
                f"{self.program}: {width}×{height}{f', result.color[{number}]' * bool(last)}",
                heads,
                tuple((name, *fields_of(channel).values()) for name, channel in buffer.items()),
                notes if number == last else (),
            )
            for number, buffer in enumerate(self.buffers)
        ] + branching_grids(self.branching)


def program_run(
    drawing: Drawing, images: F32, executor: Executor, result: RunResult, machine: Machine
) -> ProgramRun:
    """Describe a run of a drawing. images: (buffers, height, width, 4)."""
    return ProgramRun(
        program=drawing.program.name,
        executor=executor.name,
        device=executor.device(),
        size=(drawing.rect.width, drawing.rect.height),
        seconds=result.timings,
        branching=branching_of(result.tally),
        discarded=discarded(drawing, executor, machine),
        buffers=tuple(
            {name: _channel(image[..., number]) for number, name in enumerate("rgba")}
            for image in images
        ),
    )


def _channel(values: F32) -> Channel:
    finite = values[np.isfinite(values)].astype(np.float64)
    low: float | None
    low, high, mean = (
        map(float, (finite.min(), finite.max(), finite.mean())) if finite.size else (None,) * 3
    )
    return Channel(min=low, max=high, mean=mean, not_finite=values.size - finite.size)
