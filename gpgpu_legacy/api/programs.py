"""Any fragment program on any textures: draws one rectangle and describes the result.

The program, its textures and its parameters become a plan, of one pass or of many that feed one
texture back, and an executor runs that plan like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.run import Branching, Request, branching_grids, branching_of, with_machine
from gpgpu_legacy.api.trace import Trace, trace
from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.errors import InputError, as_integer, as_member, as_positive, described
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.program import AttributeKind, Program, TextureTarget
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_numbers, as_singles
from gpgpu_legacy.pipeline.names import as_sampler, assemble, by_index, unit_of
from gpgpu_legacy.pipeline.passes import DrawKeywords, warn_of_mistakes
from gpgpu_legacy.pipeline.storage import ROW_OF_FOUR, row_of
from gpgpu_legacy.pipeline.values import Values, indexed
from gpgpu_legacy.plan.framebuffer import blend_of
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, FragmentPass, Pass
from gpgpu_legacy.plan.textures import (
    FORMATS,
    LARGEST_TEXTURE,
    RGBA32F,
    Extent,
    Format,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    constant_rect,
)
from gpgpu_legacy.present.animation import check_size, texel_animation_writer
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.runtime.executor import AUTO, Executor
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Machine
from gpgpu_legacy.runtime.prepared import Observer, RunResult, Timings
from gpgpu_legacy.serial import Record, fields_of

# Drawings ----------------------------------------------------------------------------------------

MOST_FRAGMENTS = LARGEST_TEXTURE**2


@frozen
class Drawing(Request):
    """A program on a rectangle with all its inputs.

    builder: the plan's. given: the call's keywords and textures, by units and indices, not names.
    """

    builder: PlanBuilder
    given: Mapping[str, Any]

    @property
    def draw(self) -> FragmentPass:
        """The pass that draws the rectangle, the first one if there are several."""
        return next(self.plan.only(FragmentPass))

    @property
    def rect(self) -> Rect:
        """The rectangle that is drawn."""
        return constant_rect(self.draw.rect)

    @property
    def keeps_buffers(self) -> bool:
        """Whether `draw_buffers` was given, so that the result has an axis of buffers."""
        return "draw_buffers" in self.given

    def colours(self, result: RunResult) -> F32:
        """The colours of a run: (H, W, 4), or with `draw_buffers` (buffers, H, W, 4)."""
        images = [*result.outputs.values()]
        return np.stack(images) if self.keeps_buffers else images[0]


class DrawingKeywords(DrawKeywords, total=False):
    """The inputs of a fragment program besides its textures, and how its colours are written.

    uniforms: {name: four numbers} by the names of the source; an array or a matrix takes a list.
    local, env: {index: four numbers} for program.local[index] and program.env[index]; others are 0.

    texcoords: {set: (4, 4) values}, a row for each corner (0, 0), (W, 0), (W, H), (0, H), or
    {set: four numbers}, the same everywhere; instead of a set, the name of a varying in the source.
    Missing components are those of (0, 0, 0, 1). Set 0 defaults to pixel coordinates, (0, 0, 0, 1)
    to (W, H, 0, 1), which read the texel centres of a RECT texture; the other sets default to
    (0, 0, 0, 1).

    color, secondary_color: four numbers, or (4, 4) values at the corners, not clamped. The defaults
    are (1, 1, 1, 1) and (0, 0, 0, 1).
    fogcoord: a number, or one for each corner; 0 by default.

    state: {name: four numbers, or a 4×4 matrix}, as in {"state.fog.color": (1, 0, 0, 1)}. State
    that is not given has GL's initial value.

    clear: the initial colour of the rectangle, which discarded fragments keep.
    blend, mask, scissor, alpha_test: how the program's colour is written; see Pipeline.draw.
    draw_buffers: n keeps result.color[0] to result.color[n - 1]; None keeps result.color alone.

    passes, feedback: draw the rectangle `passes` times. After each pass, result.color replaces the
    texture of unit `feedback`, which keeps its sampler and its format. It must be a RECT or 2D
    texture of four channels and the rectangle's size.
    """

    clear: ArrayLike
    draw_buffers: int | None
    passes: int | None
    feedback: int | str | None


def make_drawing(
    program: Program | Path | str,
    width: int | None,
    height: int | None,
    textures: Mapping[Any, Any] | None = None,
    *,
    executor: str = AUTO,
    machine: Machine = DEFAULT_MACHINE,
    **keywords: Unpack[DrawingKeywords],
) -> Drawing:
    """Check the arguments of run_program, and make the drawing.

    See run_program for parameters and errors. width, height: None for the size of the texture that
    is fed back.
    """
    program = assemble(program)
    given: dict[str, Any] = {n: value for n, value in keywords.items() if value is not None}
    given |= by_index(program, {**given, "textures": textures})
    given["feedback"] = unit_of(program, given.get("feedback"))
    del given["uniforms"]  # they are among local and env now
    units, most = program.texture_units, DEFAULT_LIMITS.texture_image_units
    checked = {
        unit: _texture(unit, texture, units.get(unit))
        for unit, texture in indexed("textures", given["textures"], most).items()
    }
    read = {unit: texture for unit, texture in checked.items() if unit in units}
    fed_back = _fed_back(given, read)
    if fed_back is not None and width is None:
        width, height = fed_back.extent.width, fed_back.extent.height
    rect = _rectangle(width, height)
    buffers = _draw_buffers(given.get("draw_buffers"), program)
    p = PlanBuilder(program.name)
    p.warns = False  # the plan lacks the textures that the program does not read
    bound = {unit: (_upload(p, texture), texture.sampler) for unit, texture in read.items()}
    like = Texture("", TextureKind.RECT, Extent(rect.width, rect.height), RGBA32F)
    if fed_back is not None:
        _check_fed_back(given["feedback"], fed_back, like.extent)
        like = fed_back
    clear = Values(None).vector("clear", given.get("clear", (0.0, 0.0, 0.0, 0.0)))
    targets = [
        p.like(like, f"color[{n}]", initial=clear)
        for n in range(max(buffers, program.color_outputs))
    ]
    values = {name: given[name] for name in DrawKeywords.__annotations__ if name in given}
    unset = dict.fromkeys(filter(None, program.texcoord_sets), _MISSING)
    values["texcoords"] = unset | given["texcoords"]
    if fed_back is None:
        p.draw(program, bound, into=targets, **values)
    else:
        fed, _ = bound[given["feedback"]]
        blend, mask = blend_of(given.get("blend")), given.get("mask", "rgba")
        keeps = program.kills or blend or mask != "rgba" or {"scissor", "alpha_test"} & given.keys()
        with p.repeat(given["passes"]):
            for target in targets if keeps else ():
                p.clear(target, clear)
            p.draw(program, bound, into=targets, **values)
            p.swap(fed, targets[0])
        targets[0] = fed
    shape = (rect.height, rect.width, 4)
    for n, target in enumerate(targets[:buffers]):
        result = p.result(f"color[{n}]", rect.height, 4 * rect.width, shape=shape)
        p.read_back(target, result, packing=ROW_OF_FOUR)
    operands = {texture.texture.name: texture.texels for texture in read.values()}
    return Drawing(p.plan(), operands, executor, machine, p, given)


_MISSING = ATTRIBUTE_DEFAULTS[AttributeKind.TEXCOORD]


def _upload(p: PlanBuilder, bound: BoundTexture) -> Texture:
    name, extent = bound.texture.name, bound.texture.extent
    texture = p.like(bound.texture, name, depth=extent.depth, levels=extent.levels)
    matrix = p.operand(name, *bound.texels.shape)
    packing = row_of(texture.format.channels)
    p.upload(matrix, texture, rect=(0, 0, extent.width, extent.rows), packing=packing)
    return texture


def _fed_back(given: Mapping[str, Any], read: Mapping[int, BoundTexture]) -> Texture | None:
    """The texture that the output replaces after each pass; None if there is only one pass."""
    passes, unit = given.get("passes"), given["feedback"]
    if passes is not None:
        as_positive("passes", passes)
    if unit is None:
        if passes not in (None, 1):
            raise InputError(
                f"passes is {passes}, but no texture is fed back; give feedback, the unit that "
                "looks up what the pass before drew"
            )
        return None
    if passes is None:
        raise InputError(
            f"feedback is {unit}, but passes is not given; give passes, the number of passes"
        )
    if unit not in read:
        units = ", ".join(map(str, read)) or "none"
        raise InputError(
            f"feedback is {unit}, but the program looks up the units {units} that have a texture; "
            "give one of them"
        )
    return read[unit].texture


def _check_fed_back(unit: int, texture: Texture, wanted: Extent) -> None:
    """Raise InputError for a texture that the output cannot replace."""
    is_flat = texture.kind in (TextureKind.RECT, TextureKind.T2D)
    if not is_flat or texture.extent != wanted or texture.format.channels < 4:
        raise InputError(
            f"feedback is {unit}, a {texture.kind.value} texture of "
            f"{texture.extent.width}×{texture.extent.height} texels of {texture.format.name}; give "
            "a RECT or 2D texture of four channels and the rectangle's size, "
            f"{wanted.width}×{wanted.height}"
        )


def _rectangle(width: int | None, height: int | None) -> Rect:
    if width is None or height is None:
        raise InputError("give the size of the rectangle to draw, as in --size 256x256")
    rect = Rect(0, 0, as_positive("width", width), as_positive("height", height))
    if rect.area > MOST_FRAGMENTS:
        raise InputError(
            f"width × height is {rect.area} pixels; it must be at most {MOST_FRAGMENTS}"
        )
    return rect


def _draw_buffers(count: int | None, program: Program) -> int:
    if count is None:
        return 1
    number, most = as_integer("draw_buffers", count), DEFAULT_LIMITS.draw_buffers
    if not 1 <= number <= most:
        raise InputError(f"draw_buffers is {number}; it must be from 1 to {most}")
    if number < program.color_outputs:
        raise InputError(
            f"draw_buffers is {number}, and the program writes result.color"
            f"[{program.color_outputs - 1}]; it must be at least {program.color_outputs}"
        )
    return number


# Textures ----------------------------------------------------------------------------------------

_AXES = {
    TextureTarget.T1D: ("W",),
    TextureTarget.T2D: ("H", "W"),
    TextureTarget.RECT: ("H", "W"),
    TextureTarget.T3D: ("D", "H", "W"),
    TextureTarget.CUBE: ("6", "N", "N"),
}


@dataclass(frozen=True, eq=False)
class BoundTexture:
    """A texture that the program looks up. texels: (rows, channels · width), layer above layer."""

    texture: Texture
    sampler: Sampler
    texels: F32


def _texture(unit: int, given: Any, looked_up: TextureTarget | None) -> BoundTexture:
    name = f"textures[{unit}]"
    if isinstance(given, np.ndarray):
        given = (looked_up or TextureTarget.T2D, given)
    if not isinstance(given, tuple | list) or len(given) < 2:
        raise InputError(
            f"{name} is {described(given)}; give an array, (target, array) or (target, array, "
            "sampler)"
        )
    target = as_member(f"the target of {name}", given[0], TextureTarget).kind
    if looked_up is not None and looked_up.kind is not target:
        raise InputError(
            f"{name} is {target.value}, and the program looks it up as {looked_up.value}; give a "
            f"{looked_up.value} texture"
        )
    formats = list[Format]()
    sampler = as_sampler(name, given[2:], looked_up or target, formats)
    (texel_format,) = formats or [FORMATS["depth32f"] if sampler.compare else RGBA32F]
    is_mipmap = isinstance(given[1], tuple | list) and len({*map(np.shape, given[1])}) > 1
    arrays = given[1] if is_mipmap else [given[1]]
    levels = [_texels(name, level, target, texel_format) for level in arrays]
    depth, height, width, _ = (1, 1, *levels[0].shape)[-4:]
    kind, extent = TextureKind(target.value), Extent(width, height, depth)
    needed = max(len(levels), sampler.levels_read(extent, kind).stop)
    extent = replace(extent, levels=min(needed, extent.most_levels(kind)))
    while len(levels) < extent.levels:
        levels.append(_halved(levels[-1], len(_AXES[target]) - (kind is TextureKind.CUBE)))
    rows = np.zeros((extent.rows, extent.width, 4), np.float32)
    for n, texels in enumerate(levels):
        level, first = extent.level(n, kind), extent.first_row(n)
        if texels.size != 4 * level.width * level.rows:
            raise InputError(
                f"level {n} of {name} has the shape {texels.shape}; it must be half of the level "
                "before, rounded down, but at least 1"
            )
        rows[first:, : level.width][: level.rows] = texels.reshape(level.rows, level.width, 4)
    texture = Texture(f"texture[{unit}]", kind, extent, texel_format)
    rows = rows[..., : texel_format.channels]
    return BoundTexture(texture, sampler, rows.reshape(extent.rows, -1))


def _halved(texels: F32, axes: int) -> F32:
    """The next level: means of two texels along each axis, s first. axes: how many are halved."""
    for axis in range(texels.ndim - 2, texels.ndim - 2 - axes, -1):
        if (half := texels.shape[axis] // 2) > 0:
            pairs = np.moveaxis(texels, axis, 0)[: 2 * half]
            texels = np.moveaxis((pairs[::2] + pairs[1::2]) * np.float32(0.5), 0, axis)
    return texels


def _texels(name: str, given: ArrayLike, target: TextureTarget, texel_format: Format) -> F32:
    """The array as float32 with a last axis of four channels, those of the format first.

    An array of as many channels as the format has these channels. Of another array, the channels
    are those that GL takes, such as red for luminance.
    """
    axes = _AXES[target]
    wanted = f"an array [{', '.join(axes)}, 4]"
    array = as_numbers(name, given, wanted)
    if array.ndim == len(axes):
        array = array[..., None]
    if array.ndim != len(axes) + 1 or not 1 <= array.shape[-1] <= 4:
        raise InputError(f"{name} has the shape {array.shape}; {target.value} takes {wanted}")
    if not array.size:
        raise InputError(f"{name} has the shape {array.shape}, which has no texel; give {wanted}")
    if target is TextureTarget.CUBE and (array.shape[0] != 6 or array.shape[1] != array.shape[2]):
        raise InputError(f"{name} has the shape {array.shape}; a CUBE is six squares, {wanted}")
    texels = np.empty((*array.shape[:-1], 4), np.float32)
    texels[...] = _MISSING
    texels[..., : array.shape[-1]] = as_singles(name, array)
    if array.shape[-1] != texel_format.channels:
        texels[..., : texel_format.channels] = texels[..., texel_format.places]
    return texels


# Runs --------------------------------------------------------------------------------------------


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
    drawing = make_drawing(program, width, height, textures, executor=executor, machine=how, **read)
    return drawing.colours(run_drawing(drawing)[1])


def run_drawing(drawing: Drawing, observer: Observer | None = None) -> tuple[Executor, RunResult]:
    """Run a drawing: returns the executor, and the result.

    It warns of probable mistakes in the inputs, and of results that the specification leaves
    undefined. observer: called after each pass.
    """
    given = drawing.given
    warn_of_mistakes(drawing.draw, given["texcoords"], given["textures"])
    chosen, result = drawing.run(observer=observer)
    drawing.warn_of_undefined(result)
    return chosen, result


def frames_of(drawing: Drawing, path: Path, scale: int = 1) -> tuple[Observer, Callable[[], None]]:
    """An observer that keeps what each pass draws, and a function that writes it as an animation.

    path: a .gif, .png or .apng; scale: pixels along each side of a texel. Raises InputError, before
    anything is run, for a path that cannot be written and for more than LARGEST_ANIMATION pixels.
    """
    write, rect = texel_animation_writer(path, scale), drawing.rect
    check_size(rect.width * scale, rect.height * scale, drawing.given.get("passes", 1))
    frames: list[F32] = []

    def keep(_number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        if isinstance(pass_, FragmentPass):
            frames.append(read(pass_.target))

    return keep, lambda: write(frames)


def discarded(drawing: Drawing) -> int:
    """The number of fragments that the last pass discards.

    It is drawn over two clear colours; a discarded fragment keeps each of them.
    """
    given, program, rect = dict(drawing.given), drawing.draw.program, drawing.rect
    if not (program.kills or "alpha_test" in given):
        return 0

    def drawn(**other: Any) -> F32:
        how = {"executor": drawing.executor, "machine": drawing.machine, **given, **other}
        _, result = make_drawing(program, rect.width, rect.height, **how).run()
        return next(iter(result.outputs.values()))

    unit = given["feedback"]
    if unit is not None and given["passes"] > 1:
        target, _, *sampler = given["textures"][unit]
        before = drawn(passes=given["passes"] - 1)
        given["textures"] = {**given["textures"], unit: (target, before, *sampler)}
    given |= {"passes": None, "feedback": None, "blend": None, "mask": "rgba", "scissor": None}
    keeps = [drawn(clear=(value,) * 4)[..., 0] == value for value in (0.0, 1.0)]
    return int(np.logical_and(*keeps).sum())


def trace_drawing(drawing: Drawing, texel: tuple[int, int]) -> Trace:
    """Trace the fragment of a texel through every instruction of every pass."""
    return trace(
        drawing.builder,
        texel,
        drawing.operands,
        [output.texture for output in drawing.plan.outputs] if drawing.keeps_buffers else (),
        executor=drawing.executor,
        machine=drawing.machine,
        instructions=True,
    )


# The result of `exec` ---------------------------------------------------------------------------


class Channel(Record):
    """The range and mean of a channel's finite values, or None; and the number of other values."""

    min: float | None
    max: float | None
    mean: float | None
    not_finite: int


class ProgramRun(Result):
    """A run of a program.

    size: width and height in pixels. discarded: the fragments that KIL or the alpha test
    discards in the last pass. buffers: the channels r, g, b and a of each draw buffer. branching:
    as in a Run.
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


def program_run(drawing: Drawing, executor: Executor, result: RunResult) -> ProgramRun:
    """Describe a run of a drawing."""
    return ProgramRun(
        program=drawing.draw.program.name,
        executor=executor.name,
        device=executor.device(),
        size=(drawing.rect.width, drawing.rect.height),
        seconds=result.timings,
        branching=branching_of(result.tally),
        discarded=discarded(replace(drawing, executor=executor.name)),
        buffers=tuple(
            {name: _channel(image[..., number]) for number, name in enumerate("rgba")}
            for image in result.outputs.values()
        ),
    )


def _channel(values: F32) -> Channel:
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high, mean = (
        float(of(finite)) if finite.size else None for of in (np.min, np.max, np.mean)
    )
    return Channel(min=low, max=high, mean=mean, not_finite=values.size - finite.size)
