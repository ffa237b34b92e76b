"""Hypothesis strategies: fragment programs as text, and scenes to run them in.

Everything is made from the opcode table and the data structure of programs, so that a row added to
the table takes part without a change here. By default programs look up rectangle textures and read
texture coordinates; `whole_scenes` use the whole language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from drawing import Image, corners, draw_all
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpgpu_legacy.isa.ir import AttributeKind, Program, Vec4
from gpgpu_legacy.isa.opcodes import OPCODES, Operand
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.plan import AttributeCorners, Texcoords
from gpgpu_legacy.plan.textures import Filter, Rect, Sampler, TextureKind, Wrap
from gpgpu_legacy.runtime.machine import Tuning

UNITS = 3
TEXCOORD_SETS = 3
PARAMETERS = 4

ANY_FLOAT = st.floats(width=32)
FINITE_FLOAT = st.floats(width=32, allow_nan=False, allow_infinity=False)
SEED = st.integers(0, 2**32 - 1)
SMALL_NUMBER = st.integers(-16, 16).map(lambda i: i / 4)
TILES = st.sampled_from((Tuning(tile=(2, 1)), Tuning(tile=(1, 2)), None))
"""Tiles of native code: two whose code is short, and the one that is chosen."""

_LETTERS = ("xyzw", "rgba")
_MASKS = [
    "".join(letters[c] for c in range(4) if bits >> c & 1)
    for letters in _LETTERS
    for bits in range(1, 16)
]
_NAMES = ("R0", "R1", "t", "$1", "_", "x", "RECT", "KIL_SAT", "a_longer_name")


def number(value: float) -> str:
    """A non-negative number as the language writes it."""
    return repr(abs(value))


def signed_number(value: float) -> str:
    return ("-" if value < 0 else "") + number(value)


def vector(values: Sequence[float]) -> str:
    return "{" + ", ".join(signed_number(v) for v in values) + "}"


def vec4(values: st.SearchStrategy[float]) -> st.SearchStrategy[Vec4]:
    return st.tuples(values, values, values, values)


@st.composite
def swizzles(draw: st.DrawFn, *, scalar: bool = False) -> str:
    """A suffix: nothing, one component or four; for a scalar operand, one."""
    letters = draw(st.sampled_from(_LETTERS))
    kind = "one" if scalar else draw(st.sampled_from(("none", "one", "four")))
    if kind == "none":
        return ""
    count = 1 if kind == "one" else 4
    return "." + "".join(draw(st.sampled_from(letters)) for _ in range(count))


@dataclass(frozen=True)
class Reach:
    """What programs may use besides instructions, temporaries, parameters and coordinates.

    targets: the texture target of each texture image unit. attributes, state: registers to read.
    results: registers to write. options: those that the program asks for.
    """

    targets: tuple[str, ...] = ("RECT",) * UNITS
    attributes: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    results: tuple[str, ...] = ("result.color",)
    options: tuple[str, ...] = ()


RECTANGLES = Reach()
ATTRIBUTES = {
    f"fragment.{kind.value}": kind
    for kind in (AttributeKind.COLOR, AttributeKind.SECONDARY_COLOR, AttributeKind.FOGCOORD)
}
STATE = ("state.fog.color", "state.texenv[1].color", "state.light[3].specular")
DRAW_BUFFERS = "ARB_draw_buffers"


@st.composite
def reaches(draw: st.DrawFn) -> Reach:
    """All of the language, with some target at each unit and one colour or two."""
    targets = tuple(draw(st.sampled_from(tuple(_EXTENTS))).value for _ in range(UNITS))
    results, options = ("result.color", "result.depth"), ()
    if draw(st.booleans()):
        results, options = (*results, "result.color[1]"), (DRAW_BUFFERS,)
    return Reach(targets, tuple(ATTRIBUTES), STATE, results, options)


@dataclass
class _Names:
    """What the program being made has declared."""

    reach: Reach = RECTANGLES
    temporaries: list[str] = field(default_factory=list)
    readable: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


@st.composite
def declarations(draw: st.DrawFn, names: _Names, numbers: st.SearchStrategy[float]) -> list[str]:
    """Declarations, in some order; `names` gets to know what they declare."""
    names.temporaries += draw(
        st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4, unique=True)
    )
    lines = [f"TEMP {', '.join(names.temporaries)};"]
    if draw(st.booleans()):
        lines.append(f"PARAM c1 = {vector(draw(st.lists(numbers, min_size=1, max_size=4)))};")
        names.readable.append("c1")
    if draw(st.booleans()):
        lines.append(f"PARAM c2 = {signed_number(draw(numbers))};")
        names.readable.append("c2")
    if draw(st.booleans()):
        first = draw(st.integers(0, PARAMETERS - 1))
        last = draw(st.integers(first, PARAMETERS - 1))
        space = draw(st.sampled_from(("local", "env")))
        lines.append(
            f"PARAM p[] = {{ program.{space}[{first}..{last}], {signed_number(draw(numbers))} }};"
        )
        names.readable += [f"p[{i}]" for i in range(last - first + 2)]
    if draw(st.booleans()):
        lines.append(f"ATTRIB place = fragment.texcoord[{draw(st.integers(0, 2))}];")
        names.readable.append("place")
    if draw(st.booleans()):
        lines.append("OUTPUT shown = result.color;")
        names.results.append("shown")
    lines = draw(st.permutations(lines))
    if draw(st.booleans()):
        other = draw(st.sampled_from(names.temporaries))
        lines.append(f"ALIAS other = {other};")
        names.temporaries.append("other")
    return lines


@st.composite
def registers(draw: st.DrawFn, names: _Names, numbers: st.SearchStrategy[float]) -> str:
    """A source register, a parameter in place or a constant in place, as text."""
    texcoords = [f"fragment.texcoord[{n}]" for n in range(TEXCOORD_SETS)]
    given = [f"program.{space}[{n}]" for space in ("local", "env") for n in range(PARAMETERS)]
    given += names.reach.state
    texcoords += names.reach.attributes
    kinds = [names.temporaries] * 3 + [names.readable] * 2 + [texcoords, given]
    kind = draw(st.integers(0, len(kinds) + 2))
    if kind == len(kinds):
        return "fragment.position"
    if kind == len(kinds) + 1:
        return number(draw(numbers))
    if kind == len(kinds) + 2 or not kinds[kind]:
        return vector(draw(st.lists(numbers, min_size=1, max_size=4)))
    return draw(st.sampled_from(kinds[kind]))


@st.composite
def operands(
    draw: st.DrawFn, kind: Operand, names: _Names, numbers: st.SearchStrategy[float]
) -> str:
    """One operand of that kind, as text."""
    match kind:
        case Operand.DESTINATION:
            register = draw(st.sampled_from(names.temporaries + names.results))
            mask = draw(st.none() | st.sampled_from(_MASKS))
            return register if mask is None else f"{register}.{mask}"
        case Operand.VECTOR | Operand.SCALAR:
            sign, register = draw(st.sampled_from(("", "-", "+"))), draw(registers(names, numbers))
            return sign + register + draw(swizzles(scalar=kind is Operand.SCALAR))
        case Operand.REGISTER:
            return draw(registers(names, numbers))
        case Operand.EXTENDED_SWIZZLE:
            letters = draw(st.sampled_from(_LETTERS)) + "01"
            selectors = [
                draw(st.sampled_from(("", "-"))) + draw(st.sampled_from(letters)) for _ in range(4)
            ]
            return ", ".join(selectors)
        case Operand.TEXTURE_UNIT:
            unit = draw(st.integers(0, UNITS - 1))
            return f"texture[{unit}], {names.reach.targets[unit]}"


@st.composite
def program_texts(
    draw: st.DrawFn,
    numbers: st.SearchStrategy[float] = FINITE_FLOAT,
    most: int = 10,
    among: Sequence[str] | None = None,
    reach: Reach = RECTANGLES,
) -> str:
    """A straight-line program that reads nothing undefined.

    numbers: of the constants. most: instructions, besides those that define the temporaries.
    among: the opcodes to choose from, else all of the table.
    """
    names = _Names(reach, results=list(reach.results))
    options = [f"OPTION {option};" for option in reach.options]
    lines = ["!!ARBfp1.0", *options, *draw(declarations(names, numbers))]
    for name in names.temporaries:
        n = draw(st.integers(0, TEXCOORD_SETS - 1))
        lines.append(f"MOV {name}, fragment.texcoord[{n}]{draw(swizzles())};")
    for _ in range(draw(st.integers(1, most))):
        row = OPCODES[draw(st.sampled_from(sorted(among or OPCODES)))]
        saturate = row.saturable and draw(st.integers(0, 3)) == 0
        kinds = [kind for kind in row.shape.value if kind is not Operand.TEXTURE_TARGET]
        texts = [draw(operands(kind, names, numbers)) for kind in kinds]
        lines.append(f"{row.mnemonic}{'_SAT' * saturate} {', '.join(texts)};")
    lines.append(f"MOV result.color, {draw(st.sampled_from(names.temporaries))};")
    if draw(st.booleans()):  # the last word need not be a whole vector
        lines.pop()
    return "\n".join([*lines, "END", ""])


@dataclass(frozen=True)
class Scene:
    """A program and everything that it may read: what one fragment pass is given.

    targets: how many textures it draws to.
    """

    text: str
    size: tuple[int, int]
    rect: Rect
    textures: dict[int, NDArray[np.float32] | Image]
    texcoords: tuple[Texcoords, ...]
    local: dict[int, Vec4]
    env: dict[int, Vec4]
    attributes: tuple[AttributeCorners, ...] = ()
    state: dict[str, Vec4] = field(default_factory=dict)
    targets: int = 1


def draw_scene(scene: Scene, text: Program | None = None, **more: Any) -> list[NDArray[np.float32]]:
    """What a scene draws, by `draw_all`, to textures of float32 unless `more` says otherwise.

    text: another program in place of its own.
    """
    return draw_all(
        text or assemble(scene.text, name="random.fp"),
        scene.size,
        rect=scene.rect,
        textures=scene.textures,
        texcoords=scene.texcoords,
        attributes=scene.attributes,
        state=scene.state,
        local=scene.local,
        env=scene.env,
        **{"targets": (RGBA32F,) * scene.targets, **more},
    )


@st.composite
def texel_arrays(
    draw: st.DrawFn, numbers: st.SearchStrategy[float], largest: int = 4
) -> NDArray[np.float32]:
    """The texels of an r32f or rgba32f texture: (height, width, 1 or 4)."""
    height, width = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    channels = draw(st.sampled_from((1, 4)))
    count = height * width * channels
    values = draw(st.lists(numbers, min_size=count, max_size=count))
    return np.array(values, np.float32).reshape(height, width, channels)


# The extents of a texture of each kind with sides a and b: width, height, depth.
_EXTENTS = {
    TextureKind.RECT: lambda a, b: (a, b, 1),
    TextureKind.T1D: lambda a, _: (a, 1, 1),
    TextureKind.T2D: lambda a, b: (a, b, 1),
    TextureKind.T3D: lambda a, b: (a, b, 5 - a),
    TextureKind.CUBE: lambda a, _: (a, a, 6),
}


@st.composite
def images(draw: st.DrawFn, target: str, numbers: st.SearchStrategy[float]) -> Image:
    """A texture of that target, small, with any sampler that it may have.

    A quarter of its texels are of the numbers, the others as different as can be.
    """
    kind = TextureKind(target)
    wraps = [wrap for wrap in Wrap if kind is not TextureKind.RECT or wrap is not Wrap.REPEAT]
    a, b = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    width, height, depth = _EXTENTS[kind](a, b)
    rng = np.random.default_rng(draw(SEED))
    texels = rng.integers(-64, 64, (height * depth, width, draw(st.sampled_from((1, 4))))) / 8
    some = draw(st.lists(numbers, min_size=1, max_size=8))
    texels = np.where(rng.random(texels.shape) < 0.25, rng.choice(some, texels.shape), texels)
    filters = list(Filter)
    which = (wraps[rng.integers(len(wraps))] for _ in range(3))
    sampler = Sampler(filters[rng.integers(len(filters))], *which)
    return Image(texels.astype(np.float32), kind, depth, sampler)


@st.composite
def bent(draw: st.DrawFn, n: int) -> Texcoords:
    """A texture coordinate set with any corner values, which need not lie in a plane."""
    values = np.random.default_rng(draw(SEED)).integers(-16, 17, (4, 4)) / 4
    return Texcoords(n, tuple(map(tuple, values.tolist())))  # type: ignore[arg-type]


@st.composite
def planes(
    draw: st.DrawFn, n: int, rect: Rect, numbers: st.SearchStrategy[float] = SMALL_NUMBER
) -> Texcoords:
    """A texture coordinate set whose components are planes of small slopes, some of them level."""
    base, dx, dy = (draw(vec4(numbers)) for _ in range(3))
    level = [draw(st.booleans()) for _ in range(4)]
    dx = tuple(0.0 if flat else slope for flat, slope in zip(level, dx, strict=True))  # type: ignore[assignment]
    return Texcoords(n, corners(base, dx, dy, rect.width, rect.height))


@st.composite
def _frames(draw: st.DrawFn) -> tuple[tuple[int, int], Rect]:
    """The size of a target, and a rectangle in it."""
    width, height = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    rect = Rect(x, y, draw(st.integers(1, width - x)), draw(st.integers(1, height - y)))
    return (width, height), rect


@st.composite
def scenes(
    draw: st.DrawFn,
    numbers: st.SearchStrategy[float] = FINITE_FLOAT,
    values: st.SearchStrategy[float] = ANY_FLOAT,
    among: Sequence[str] | None = None,
    most: int = 10,
) -> Scene:
    """A random program with random textures, coordinates and parameters.

    numbers: of the program's constants; values: of everything else but the coordinates.
    """
    size, rect = draw(_frames())
    sets = draw(st.lists(st.integers(0, TEXCOORD_SETS - 1), unique=True))
    vectors = st.dictionaries(st.integers(0, PARAMETERS - 1), vec4(values))
    return Scene(
        draw(program_texts(numbers, most, among)),
        size,
        rect,
        {unit: draw(texel_arrays(values)) for unit in range(UNITS)},
        tuple(draw(planes(n, rect)) for n in sets),
        draw(vectors),
        draw(vectors),
    )


@st.composite
def whole_scenes(
    draw: st.DrawFn,
    numbers: st.SearchStrategy[float] = FINITE_FLOAT,
    values: st.SearchStrategy[float] = ANY_FLOAT,
    among: Sequence[str] | None = None,
    *,
    most: int = 10,
    options: Sequence[str] = (),
) -> Scene:
    """A random program of the whole language, with all that it may read.

    numbers: of the program's constants; values: of everything else but the interpolated values.
    options: asked for besides ARB_draw_buffers.
    """
    size, rect = draw(_frames())
    reach = draw(reaches())
    reach = replace(reach, options=(*reach.options, *options))
    interpolated = [
        draw(bent(n) if draw(st.booleans()) else planes(n, rect)) for n in range(TEXCOORD_SETS)
    ]
    attributes = [
        AttributeCorners(kind, draw(bent(0)).corners)
        for kind in ATTRIBUTES.values()
        if draw(st.booleans())
    ]
    vectors = st.dictionaries(st.integers(0, PARAMETERS - 1), vec4(values))
    return Scene(
        draw(program_texts(numbers, most, among, reach)),
        size,
        rect,
        {unit: draw(images(target, values)) for unit, target in enumerate(reach.targets)},
        tuple(interpolated),
        draw(vectors),
        draw(vectors),
        tuple(attributes),
        {binding: draw(vec4(values)) for binding in STATE},
        draw(st.integers(2 if DRAW_BUFFERS in reach.options else 1, 2)),
    )
