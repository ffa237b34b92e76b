"""Any fragment program on any textures: one rectangle drawn, and what came of it.

The program, its textures and its parameters become a plan of one pass, and an executor runs that
plan as it would any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import index as as_integer
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, Arithmetic
from gpgpu_legacy.isa.ir import AttributeKind, Program, TextureTarget, Vec4
from gpgpu_legacy.isa.state import canonical_state
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE, RGBA32F
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    AttributeCorners,
    Binding,
    Blend,
    Corners,
    Extent,
    Filter,
    FragmentPass,
    Input,
    Matrix,
    Output,
    Packing,
    ParameterValue,
    Plan,
    Rect,
    Region,
    Sampler,
    StateValue,
    Texcoords,
    Texture,
    TextureKind,
    Wrap,
    constant_rect,
)
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.executor import Executor, Machine, Result
from gpgpu_legacy.runtime.registry import AUTO, find_executor, in_auto_order, reference

F32 = NDArray[np.float32]
Textures = Mapping[int, Sequence[Any]]

MOST_DRAW_BUFFERS = DEFAULT_LIMITS.draw_buffers
MOST_FRAGMENTS = LARGEST_TEXTURE**2
SMALL_WORK = 1 << 24
"""Fragments times instructions up to which the reference machine is done before a driver has
compiled the shader."""

_BEFORE = "before"
"""What the rectangle holds before, where that is an operand."""

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
    bound = _textures(assembled, _mapping("textures", textures))
    cleared = _vec4("clear", clear)
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
        texcoords=_texcoords(assembled, _mapping("texcoords", texcoords), rect),
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
        inputs=tuple(Input(*_whole(t.texture)) for t in bound),
        steps=(draw,),
        outputs=tuple(Output(*_whole(t)) for t in wanted),
    )
    validate(plan)
    operands = {t.binding.texture: t.texels for t in bound}
    return Drawing(assembled, plan, operands)


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
    plan, (_, region, target, rect, packing) = drawing.plan, _whole(drawing.targets[0])
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


# Arguments -----------------------------------------------------------------------------------


def _program(given: Program | str) -> Program:
    if isinstance(given, str):
        return assemble(given)
    if not isinstance(given, Program):
        raise InputError(f"program is {_kind(given)}; give an assembled Program or its text")
    return given


def _rectangle(width: SupportsIndex, height: SupportsIndex) -> Rect:
    rect = Rect(0, 0, _size("width", width), _size("height", height))
    if rect.area > MOST_FRAGMENTS:
        raise InputError(
            f"width × height is {rect.area} pixels; {MOST_FRAGMENTS} can be drawn at once"
        )
    return rect


def _size(name: str, value: SupportsIndex) -> int:
    size = _integer(name, value)
    if size < 1:
        raise InputError(f"{name} is {size}; it must be at least 1")
    return size


def _integer(name: str, value: SupportsIndex) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return as_integer(value)
    except TypeError:
        raise InputError(f"{name} is {value!r}; it must be an integer") from None


_COUNTS = {
    "textures": DEFAULT_LIMITS.texture_image_units,
    "texcoords": DEFAULT_LIMITS.texture_coordinate_sets,
    "local": DEFAULT_LIMITS.local_parameters,
    "env": DEFAULT_LIMITS.environment_parameters,
}


def _index(name: str, value: SupportsIndex) -> int:
    index = _integer(f"an index of {name}", value)
    if not 0 <= index < _COUNTS[name]:
        raise InputError(f"{name}[{index}] is given; indices are 0 to {_COUNTS[name] - 1}")
    return index


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _mapping(name: str, given: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {_kind(given)}; give a mapping, as in {name}={{0: …}}")
    return given


def _numbers(name: str, values: ArrayLike, wanted: str) -> NDArray[Any]:
    """An array of real numbers; `wanted` completes the message where it is none."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths; give {wanted}") from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {_dtype(array)}, not real numbers; give {wanted}")
    return array


def _dtype(array: NDArray[Any]) -> str:
    return {"O": "objects", "U": "text", "S": "bytes", "c": "complex numbers"}.get(
        array.dtype.kind, f"{array.dtype} values"
    )


def _vec4(name: str, values: ArrayLike) -> Vec4:
    array = _numbers(name, values, "four numbers")
    if array.shape != (4,):
        found = f"{array.size} numbers" if array.ndim == 1 else f"the shape {array.shape}"
        raise InputError(f"{name} has {found}; give four numbers")
    return cast("Vec4", tuple(float(v) for v in array))


def _parameters(name: str, given: Mapping[int, ArrayLike] | None) -> tuple[ParameterValue, ...]:
    return tuple(
        ParameterValue(_index(name, key), _vec4(f"{name}[{key}]", values))
        for key, values in _mapping(name, given).items()
    )


def _draw_buffers(count: int | None, program: Program) -> int:
    if count is None:
        return 1
    number = _integer("draw_buffers", count)
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


def _state(given: Mapping[str, Any] | None) -> tuple[StateValue, ...]:
    names = _mapping("state", given)
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
    array = _numbers(name, values, wanted)
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
        number = _index("texcoords", key)
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
    array = _numbers("fogcoord", given, wanted)
    if array.shape not in ((), (4,)):
        raise InputError(f"fogcoord has the shape {array.shape}; give {wanted}")
    column = np.broadcast_to(array, (4,))[:, None]
    default = ATTRIBUTE_DEFAULTS[AttributeKind.FOGCOORD]
    return AttributeCorners(
        AttributeKind.FOGCOORD, _corners("fogcoord", column, default, fewer=True)
    )


# Textures ------------------------------------------------------------------------------------

_AXES = {
    TextureTarget.T1D: ("W",),
    TextureTarget.T2D: ("H", "W"),
    TextureTarget.RECT: ("H", "W"),
    TextureTarget.T3D: ("D", "H", "W"),
    TextureTarget.CUBE: ("6", "N", "N"),
}
_COORDINATES = {
    TextureTarget.T1D: 1,
    TextureTarget.T2D: 2,
    TextureTarget.RECT: 2,
    TextureTarget.T3D: 3,
    TextureTarget.CUBE: 3,
}
_TARGET_NAMES = {"RECTANGLE": "RECT", "RECTANGLE_ARB": "RECT", "CUBE_MAP": "CUBE"}
_MISSING = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Bound:
    """A texture that the program looks up. texels: (rows, 4 · width), layer above layer."""

    binding: Binding
    texture: Texture
    texels: F32


def _textures(program: Program, given: Mapping[int, Sequence[Any]]) -> list[_Bound]:
    """What the program looks up; textures that it does not are checked and left out."""
    bound = {}
    for key, each in given.items():
        unit = _index("textures", key)
        bound[unit] = _texture(unit, each, program.texture_units.get(unit))
    for unit, target in program.texture_units.items():
        if unit not in bound:
            axes = ", ".join(_AXES[target])
            raise InputError(
                f"textures lacks unit {unit}, which the program looks up as {target.value}; give "
                f"it an array [{axes}, 4]"
            )
    return [bound[unit] for unit in sorted(program.texture_units)]


def _texture(unit: int, given: Sequence[Any], looked_up: TextureTarget | None) -> _Bound:
    name = f"textures[{unit}]"
    if not isinstance(given, tuple | list) or len(given) < 2:
        raise InputError(
            f"{name} is {_kind(given)}{' of fewer than 2' * isinstance(given, tuple | list)}; "
            "give (target, array) or (target, array, sampler)"
        )
    target = _target(name, given[0])
    if looked_up not in (None, target):
        assert looked_up is not None
        raise InputError(
            f"{name} is {target.value}, and the program looks it up as {looked_up.value}; give a "
            f"{looked_up.value} texture"
        )
    sampler = _sampler(name, given[2:], target)
    texels = _texels(name, given[1], target)
    *layers, height, width, _ = (1, 1, *texels.shape)[-max(3, texels.ndim) :]
    extent = Extent(width, height, layers[0] if layers else 1)
    label = f"texture[{unit}]"
    texture = Texture(label, TextureKind(target.value), extent, RGBA32F)
    rows = np.ascontiguousarray(texels.reshape(extent.rows, 4 * extent.width))
    return _Bound(Binding(unit, label, sampler), texture, rows)


def _target(name: str, given: object) -> TextureTarget:
    try:
        return TextureTarget(_target_word(given) if isinstance(given, str) else given)
    except ValueError:
        known = ", ".join(target.value for target in TextureTarget)
        raise InputError(f"the target of {name} is {given!r}; choose from {known}") from None


def _target_word(text: str) -> str:
    """The word of the language for a target, of which GL's own name may be given."""
    word = text.strip().upper().removeprefix("GL_").removeprefix("TEXTURE_")
    return _TARGET_NAMES.get(word, word)


def _texels(name: str, given: ArrayLike, target: TextureTarget) -> F32:
    """The array as float32 with an axis of four channels."""
    axes = _AXES[target]
    wanted = f"an array [{', '.join(axes)}, 4]"
    array = _numbers(name, given, wanted)
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
    with np.errstate(over="ignore"):
        texels[..., : array.shape[-1]] = array
    return texels


_FILTERS = {each.value: each for each in Filter}
_WRAPS = {each.value: each for each in Wrap}
_KEYS = {
    "filter": "filter",
    "min-filter": "filter",
    "mag-filter": "filter",
    "min": "filter",
    "mag": "filter",
    "texture-min-filter": "filter",
    "texture-mag-filter": "filter",
    "wrap": "wrap",
    **{f"{prefix}{c}": f"wrap-{c}" for prefix in ("", "wrap-", "texture-wrap-") for c in "str"},
}


def _plain(text: str) -> str:
    """One of GL's names without what may be written in several ways."""
    return text.strip().lower().replace("_", "-").removeprefix("gl-")


def is_sampler_word(text: str) -> bool:
    """Whether that is the name of a filter or of a wrap."""
    return _plain(text) in {**_FILTERS, **_WRAPS}


def _sampler(name: str, given: Sequence[Any], target: TextureTarget) -> Sampler:
    """A sampler from what follows target and array in a texture's tuple."""
    if len(given) == 1 and isinstance(given[0], Sampler):
        sampler = given[0]
    elif len(given) == 1 and isinstance(given[0], Mapping):
        sampler = _sampler_from_mapping(name, given[0], _COORDINATES[target])
    else:
        sampler = _sampler_from_names(name, list(_words(name, given)), _COORDINATES[target])
    wraps = {sampler.wrap_s, sampler.wrap_t, sampler.wrap_r}
    if target is TextureTarget.RECT and Wrap.REPEAT in wraps:
        raise InputError(f"{name} is RECT and does not repeat; wrap it clamp or clamp-to-edge")
    # A nearest lookup stays on its face, so that any wrap finds what clamping to the edge does.
    if target is TextureTarget.CUBE:
        if sampler.filter is Filter.LINEAR and wraps != {Wrap.CLAMP_TO_EDGE}:
            raise InputError(f"{name} is CUBE and linear; wrap it clamp-to-edge, or leave it out")
        return Sampler(sampler.filter)
    return sampler


def _words(name: str, given: Iterable[Any]) -> Iterable[Filter | Wrap]:
    """The filters and wraps named in strings, tuples of strings and enumerations."""
    for each in given:
        if isinstance(each, Filter | Wrap):
            yield each
        elif isinstance(each, str):
            for word in re.findall(r"[^\s,;|/+]+", each):
                yield _filter_or_wrap(name, word)
        elif isinstance(each, tuple | list):
            yield from _words(name, each)
        elif each is not None:
            raise InputError(
                f"the sampler of {name} is {_kind(each)}; give a filter and a wrap, as in "
                '"GL_LINEAR GL_REPEAT"'
            )


def _filter_or_wrap(name: str, word: str) -> Filter | Wrap:
    known: dict[str, Filter | Wrap] = {**_FILTERS, **_WRAPS}
    found = known.get(_plain(word))
    if found is None:
        raise InputError(f"the sampler of {name} has {word!r}; choose from {', '.join(known)}")
    return found


def _sampler_from_names(name: str, words: list[Filter | Wrap], coordinates: int) -> Sampler:
    filters = {word for word in words if isinstance(word, Filter)}
    wraps = [word for word in words if isinstance(word, Wrap)]
    if len(filters) > 1:
        raise InputError(f"the sampler of {name} has two filters; give one, there are no mipmaps")
    if len(wraps) not in {0, 1, coordinates}:
        raise InputError(
            f"the sampler of {name} has {len(wraps)} wraps; give one, or one for each coordinate"
        )
    if len(wraps) < 2:
        wraps = (wraps or [Wrap.CLAMP_TO_EDGE]) * 3
    return Sampler(next(iter(filters), Filter.NEAREST), *wraps)


def _sampler_from_mapping(name: str, given: Mapping[Any, Any], coordinates: int) -> Sampler:
    found: dict[str, list[Filter | Wrap]] = {}
    for key, value in given.items():
        slot = _KEYS.get(_plain(key)) if isinstance(key, str) else None
        if slot is None:
            raise InputError(f"the sampler of {name} has the key {key!r}; give filter and wrap")
        words = list(_words(name, (value,)))
        known: Mapping[str, Filter | Wrap] = _FILTERS if slot == "filter" else _WRAPS
        for word in words:
            if word not in known.values():
                raise InputError(
                    f"the {slot} of {name} is {word.value!r}; choose from {', '.join(known)}"
                )
        if len(words) > 1 and slot.startswith("wrap-"):
            raise InputError(f"the sampler of {name} has {len(words)} values as its {slot}")
        if words and found.setdefault(slot, words) != words:
            raise InputError(
                f"the sampler of {name} has two {slot}s; give one, there are no mipmaps"
            )
    plain = _sampler_from_names(
        name, [*found.get("filter", []), *found.get("wrap", [])], coordinates
    )
    single = {f"wrap_{c}": found[f"wrap-{c}"][0] for c in "str" if f"wrap-{c}" in found}
    return replace(plain, **cast("dict[str, Any]", single))


def _whole(texture: Texture) -> tuple[str, Region, str, Rect, Packing]:
    """The fields of a transfer of a whole texture, to or from the matrix of its name."""
    rows, width = texture.extent.rows, texture.extent.width
    region = Region(0, 0, rows, 4 * width)
    return texture.name, region, texture.name, Rect(0, 0, width, rows), _TEXELS
