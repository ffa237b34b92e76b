"""A program on a rectangle of pixels with all that it reads, checked: a plan of one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.draw_values import as_index, as_numbers, as_vec4, optional_mapping
from gpgpu_legacy.api.keywords import DrawKeywords
from gpgpu_legacy.api.textures import Textures, bound_textures
from gpgpu_legacy.arguments import as_integer, as_member, as_positive, kind_of, merged
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.ir import AttributeKind, Program, Vec4
from gpgpu_legacy.isa.state import canonical_state
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.languages.registry import language_of
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE, RGBA32F
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    AttributeCorners,
    Blend,
    Corners,
    FragmentPass,
    ParameterValue,
    Plan,
    StateValue,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    Extent,
    Input,
    Matrix,
    Output,
    Packing,
    Rect,
    Region,
    Texture,
    TextureKind,
    constant_rect,
)
from gpgpu_legacy.plan.validate import validate

MOST_DRAW_BUFFERS = DEFAULT_LIMITS.draw_buffers

MOST_FRAGMENTS = LARGEST_TEXTURE**2

_TEXELS = Packing(((0, 0), (0, 1), (0, 2), (0, 3)), column_step=4)
"""A matrix of H × 4W numbers, four a texel."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A program on a rectangle with everything that it reads: a plan and the plan's operands.

    operands: float32, one for each texture that the program looks up, by the texture's name.
    keeps_buffers: whether `draw_buffers` was given, so that the result has an axis of buffers.
    """

    program: Program
    plan: Plan
    operands: Mapping[str, F32]
    keeps_buffers: bool = False

    @property
    def work(self) -> int:
        """Fragments times instructions."""
        return constant_rect(self.draw.rect).area * len(self.program.instructions)

    @property
    def targets(self) -> tuple[Texture, ...]:
        """The textures that the program draws into, in the order of the results."""
        return tuple(self.plan.texture(output.texture) for output in self.plan.outputs)

    @property
    def draw(self) -> FragmentPass:
        """The pass that draws the rectangle."""
        [step] = self.plan.steps
        assert isinstance(step, FragmentPass)
        return step


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawArguments:
    """What a fragment program reads when it is drawn on a rectangle, and what it is drawn over.

    textures: {unit: (target, array)} or {unit: (target, array, sampler)}.
    target: 1D, 2D, RECT, 3D or CUBE, as the program looks the unit up.
    array: [W, 4] for 1D, [H, W, 4] for 2D and RECT, [D, H, W, 4] for 3D, and [6, N, N, 4] for CUBE,
    its faces in the order +x, -x, +y, -y, +z, -z. Any real numbers, converted to float32. The last
    axis may have 1 to 4 channels, or be absent for one channel; missing channels read as 0, 0, 1.
    sampler: a filter and a wrap by GL's names, as in `"GL_LINEAR GL_REPEAT"`, or
    `("linear", "repeat", "clamp")` with a wrap for each coordinate, or
    `{"filter": "GL_LINEAR", "wrap_s": "GL_CLAMP"}`. The default is nearest and clamp to edge.
    There are no mipmaps. A RECT texture cannot repeat; a CUBE always clamps to the edges of a face.

    local, env: {index: four numbers} for program.local[index] and program.env[index]; others are 0.

    texcoords: {set: (4, 4) values}, a row for each corner (0, 0), (W, 0), (W, H), (0, H), or
    {set: four numbers}, the same everywhere. Missing components are those of (0, 0, 0, 1). Set 0
    defaults to pixel coordinates, (0, 0, 0, 1) to (W, H, 0, 1), which read the texel centres of a
    RECT texture; the other sets default to (0, 0, 0, 1).

    color, secondary_color: four numbers, or (4, 4) values at the corners, not clamped. The defaults
    are (1, 1, 1, 1) and (0, 0, 0, 1).
    fogcoord: a number, or one for each corner; 0 by default.

    state: {name: four numbers, or a 4×4 matrix}, as in {"state.fog.color": (1, 0, 0, 1)}. State
    that is not given has GL's initial value.

    clear: the colour that the rectangle holds before, and keeps where KIL discards a fragment.
    blend: `add` adds the program's colour to it; `none` replaces it.
    draw_buffers: n keeps result.color[0] to result.color[n - 1]; None keeps result.color alone.
    """

    textures: Textures | None = None
    local: Mapping[int, ArrayLike] | None = None
    env: Mapping[int, ArrayLike] | None = None
    texcoords: Mapping[int, ArrayLike] | None = None
    color: ArrayLike | None = None
    secondary_color: ArrayLike | None = None
    fogcoord: ArrayLike | None = None
    state: Mapping[str, Any] | None = None
    clear: ArrayLike = (0.0, 0.0, 0.0, 0.0)
    blend: Blend | str = Blend.NONE
    draw_buffers: int | None = None


def make_drawing(
    program: Program | str,
    width: int,
    height: int,
    textures: Textures | None = None,
    arguments: DrawArguments | None = None,
    **keywords: Unpack[DrawKeywords],
) -> Drawing:
    """What run_program would run, checked: see there for the parameters and the errors."""
    given = {"textures": textures} if textures is not None else {}
    arguments = merged("run_program", "arguments", arguments, DrawArguments, {**given, **keywords})
    program = _program(program)
    rect = _rectangle(width, height)
    buffers = _draw_buffers(arguments.draw_buffers, program)
    textures_read = bound_textures(program, optional_mapping("textures", arguments.textures))
    targets = _targets(max(buffers, program.color_outputs), rect, arguments)
    draw = FragmentPass(
        program=program,
        bindings=tuple(texture.binding for texture in textures_read),
        targets=tuple(target.name for target in targets),
        rect=rect,
        texcoords=_texcoords(program, optional_mapping("texcoords", arguments.texcoords), rect),
        locals=_parameters("local", arguments.local),
        env=_parameters("env", arguments.env),
        blend=as_member("blend", arguments.blend, Blend),
        attributes=_attributes(arguments),
        state=_state(arguments.state),
    )
    kept = targets[:buffers]
    plan = Plan(
        name=program.name,
        operands=tuple(Matrix(t.binding.texture, *t.texels.shape) for t in textures_read),
        results=tuple(Matrix(t.name, rect.height, 4 * rect.width) for t in kept),
        textures=(*(t.texture for t in textures_read), *targets),
        inputs=tuple(Input(*whole_texture(t.texture)) for t in textures_read),
        steps=(draw,),
        outputs=tuple(Output(*whole_texture(t)) for t in kept),
    )
    validate(plan)
    operands = {t.binding.texture: t.texels for t in textures_read}
    return Drawing(program, plan, operands, arguments.draw_buffers is not None)


def _targets(count: int, rect: Rect, arguments: DrawArguments) -> tuple[Texture, ...]:
    extent, cleared = Extent(rect.width, rect.height), as_vec4("clear", arguments.clear)
    return tuple(
        Texture(f"color[{n}]", TextureKind.RECT, extent, RGBA32F, cleared) for n in range(count)
    )


def _program(given: Program | str) -> Program:
    if isinstance(given, str):
        return language_of(given).assemble(given, "program")
    if not isinstance(given, Program):
        raise InputError(f"program is {kind_of(given)}; give an assembled Program or its text")
    return given


def _rectangle(width: SupportsIndex, height: SupportsIndex) -> Rect:
    rect = Rect(0, 0, as_positive("width", width), as_positive("height", height))
    if rect.area > MOST_FRAGMENTS:
        raise InputError(
            f"width × height is {rect.area} pixels; it must be at most {MOST_FRAGMENTS}"
        )
    return rect


def _draw_buffers(count: int | None, program: Program) -> int:
    if count is None:
        return 1
    number = as_integer("draw_buffers", count)
    if not 1 <= number <= MOST_DRAW_BUFFERS:
        raise InputError(f"draw_buffers is {number}; it must be from 1 to {MOST_DRAW_BUFFERS}")
    if number < program.color_outputs:
        raise InputError(
            f"draw_buffers is {number}, and the program writes result.color"
            f"[{program.color_outputs - 1}]; it must be at least {program.color_outputs}"
        )
    return number


def _parameters(name: str, given: Mapping[int, ArrayLike] | None) -> tuple[ParameterValue, ...]:
    return tuple(
        ParameterValue(as_index(name, key), as_vec4(f"{name}[{key}]", values))
        for key, values in optional_mapping(name, given).items()
    )


def _state(given: Mapping[str, Any] | None) -> tuple[StateValue, ...]:
    names = optional_mapping("state", given)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"state has the key {name!r}; give names, as in fog.color")
    values = canonical_state(names)
    return tuple(StateValue(binding, value) for binding, value in values.items())


def _corners(name: str, values: ArrayLike, default: Vec4, *, fewer: bool) -> Corners:
    """Values at the corners: (4, 4), or (4,) for the same everywhere.

    fewer: a corner may have fewer than four components; the rest are the default's.
    """
    wanted = "(4, 4) values, four at each of the corners (0, 0), (W, 0), (W, H), (0, H)"
    array = as_numbers(name, values, wanted)
    if array.shape == (4,):
        array = np.broadcast_to(array, (4, 4))
    fits = array.ndim == 2 and len(array) == 4 and 1 <= array.shape[1] <= 4
    if not fits or (array.shape[1] < 4 and not fewer):
        raise InputError(f"{name} has the shape {array.shape}; give {wanted}")
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(array.astype(np.float32)).all()
    if not is_finite:
        raise InputError(f"{name} holds a NaN or an infinity; values at corners must be finite")
    corners = [(*map(float, corner), *default[array.shape[1] :]) for corner in array]
    return cast("Corners", tuple(corners))


def _texcoords(
    program: Program, given: Mapping[int, ArrayLike], rect: Rect
) -> tuple[Texcoords, ...]:
    """The sets that the program reads; those that it does not are checked and left out."""
    default = ATTRIBUTE_DEFAULTS[AttributeKind.TEXCOORD]
    w, h = float(rect.width), float(rect.height)
    pixels = ((0.0, 0.0, 0.0, 1.0), (w, 0.0, 0.0, 1.0), (w, h, 0.0, 1.0), (0.0, h, 0.0, 1.0))
    corners: dict[int, Corners] = {0: pixels}
    for key, values in given.items():
        number = as_index("texcoords", key)
        corners[number] = _corners(f"texcoords[{number}]", values, default, fewer=True)
    return tuple(Texcoords(n, corners[n]) for n in program.texcoord_sets if n in corners)


def _attributes(arguments: DrawArguments) -> tuple[AttributeCorners, ...]:
    attributes = (
        _attribute(AttributeKind.COLOR, "color", arguments.color),
        _attribute(AttributeKind.SECONDARY_COLOR, "secondary_color", arguments.secondary_color),
        _fogcoord(arguments.fogcoord),
    )
    return tuple(attribute for attribute in attributes if attribute is not None)


def _attribute(kind: AttributeKind, name: str, given: ArrayLike | None) -> AttributeCorners | None:
    if given is None:
        return None
    return AttributeCorners(kind, _corners(name, given, ATTRIBUTE_DEFAULTS[kind], fewer=False))


def _fogcoord(given: ArrayLike | None) -> AttributeCorners | None:
    if given is None:
        return None
    wanted = "a number, or one at each of the four corners"
    array = as_numbers("fogcoord", given, wanted)
    if array.shape not in ((), (4,)):
        raise InputError(f"fogcoord has the shape {array.shape}; give {wanted}")
    column = np.broadcast_to(array, (4,))[:, None]
    default = ATTRIBUTE_DEFAULTS[AttributeKind.FOGCOORD]
    return AttributeCorners(
        AttributeKind.FOGCOORD, _corners("fogcoord", column, default, fewer=True)
    )


def whole_texture(texture: Texture) -> tuple[str, Region, str, Rect, Packing]:
    """The fields of a transfer of a whole texture, to or from the matrix of its name."""
    rows, width = texture.extent.rows, texture.extent.width
    region = Region(0, 0, rows, 4 * width)
    return texture.name, region, texture.name, Rect(0, 0, width, rows), _TEXELS
