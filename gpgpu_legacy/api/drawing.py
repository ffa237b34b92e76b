"""A program on a rectangle of pixels with all that it reads, checked: a plan of one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.api.draw_values import as_index, as_mapping, as_numbers, as_vec4
from gpgpu_legacy.api.textures import Textures, bound_textures
from gpgpu_legacy.arguments import as_integer, kind_of
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import AttributeKind, Program, Vec4
from gpgpu_legacy.isa.state import canonical_state
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE, RGBA32F
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    AttributeCorners,
    Blend,
    Corners,
    Extent,
    FragmentPass,
    Input,
    Matrix,
    Output,
    Packing,
    ParameterValue,
    Plan,
    Rect,
    Region,
    StateValue,
    Texcoords,
    Texture,
    TextureKind,
    constant_rect,
)
from gpgpu_legacy.plan.validate import validate

F32 = NDArray[np.float32]

MOST_DRAW_BUFFERS = DEFAULT_LIMITS.draw_buffers

MOST_FRAGMENTS = LARGEST_TEXTURE**2

_TEXELS = Packing(((0, 0), (0, 1), (0, 2), (0, 3)), column_step=4)
"""A matrix of H × 4W numbers, four a texel."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A program on a rectangle with everything that it reads: a plan and the plan's operands."""

    program: Program
    plan: Plan
    operands: Mapping[str, F32]

    @property
    def work(self) -> int:
        """Fragments times instructions."""
        return constant_rect(self.draw.rect).area * len(self.program.instructions)

    @property
    def targets(self) -> tuple[Texture, ...]:
        """The textures that are drawn into, in the order of the results."""
        return tuple(self.plan.texture(output.texture) for output in self.plan.outputs)

    @property
    def draw(self) -> FragmentPass:
        """The pass."""
        [step] = self.plan.steps
        assert isinstance(step, FragmentPass)
        return step


def make_drawing(
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
) -> Drawing:
    """What run_program would run, checked: see there for the arguments and the errors."""
    assembled = _program(program)
    rect = _rectangle(width, height)
    buffers = _draw_buffers(draw_buffers, assembled)
    bound = bound_textures(assembled, as_mapping("textures", textures))
    cleared = as_vec4("clear", clear)
    targets = tuple(
        Texture(f"color[{n}]", TextureKind.RECT, Extent(width, height), RGBA32F, cleared)
        for n in range(max(buffers, assembled.color_outputs))
    )
    attributes = [
        _attribute(AttributeKind.COLOR, "color", color),
        _attribute(AttributeKind.SECONDARY_COLOR, "secondary_color", secondary_color),
        _fogcoord(fogcoord),
    ]
    draw = FragmentPass(
        program=assembled,
        bindings=tuple(each.binding for each in bound),
        target=targets[0].name,
        rect=rect,
        texcoords=_texcoords(assembled, as_mapping("texcoords", texcoords), rect),
        locals=_parameters("local", local),
        env=_parameters("env", env),
        blend=_blend(blend),
        attributes=tuple(each for each in attributes if each is not None),
        state=_state(state),
        also=tuple(target.name for target in targets[1:]),
    )
    wanted = targets[:buffers]
    plan = Plan(
        name=assembled.name,
        operands=tuple(Matrix(t.binding.texture, *t.texels.shape) for t in bound),
        results=tuple(Matrix(t.name, height, 4 * width) for t in wanted),
        textures=(*(t.texture for t in bound), *targets),
        inputs=tuple(Input(*whole_texture(t.texture)) for t in bound),
        steps=(draw,),
        outputs=tuple(Output(*whole_texture(t)) for t in wanted),
    )
    validate(plan)
    operands = {t.binding.texture: t.texels for t in bound}
    return Drawing(assembled, plan, operands)


def _program(given: Program | str) -> Program:
    if isinstance(given, str):
        return assemble(given)
    if not isinstance(given, Program):
        raise InputError(f"program is {kind_of(given)}; give an assembled Program or its text")
    return given


def _rectangle(width: SupportsIndex, height: SupportsIndex) -> Rect:
    rect = Rect(0, 0, _size("width", width), _size("height", height))
    if rect.area > MOST_FRAGMENTS:
        raise InputError(
            f"width × height is {rect.area} pixels; {MOST_FRAGMENTS} can be drawn at once"
        )
    return rect


def _size(name: str, value: SupportsIndex) -> int:
    size = as_integer(name, value)
    if size < 1:
        raise InputError(f"{name} is {size}; it must be at least 1")
    return size


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


def _blend(given: Blend | str) -> Blend:
    try:
        return Blend(given)
    except ValueError:
        known = ", ".join(mode.value for mode in Blend)
        raise InputError(f"blend is {given!r}; choose from {known}") from None


def _parameters(name: str, given: Mapping[int, ArrayLike] | None) -> tuple[ParameterValue, ...]:
    return tuple(
        ParameterValue(as_index(name, key), as_vec4(f"{name}[{key}]", values))
        for key, values in as_mapping(name, given).items()
    )


def _state(given: Mapping[str, Any] | None) -> tuple[StateValue, ...]:
    names = as_mapping("state", given)
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
