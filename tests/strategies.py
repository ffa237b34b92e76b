"""Hypothesis strategies: fragment programs as text, and scenes to run them in.

All are made from the opcode table and the data structure of programs, so that a row added to the
table takes part without a change here. By default programs look up rectangle textures and read
texture coordinates; those of `whole_scenes` have all operands of the language. Declarations and
spellings are the subject of `language.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
from drawing import F32, Image, corners, draw_all
from hypothesis import strategies as st

from gpgpu_legacy.isa.opcodes import ARBFP, Opcode, OperandKind
from gpgpu_legacy.isa.program import AttributeKind, Program, Vec4
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.plan import AttributeCorners, Texcoords
from gpgpu_legacy.plan.textures import (
    REPEATING,
    RGBA32F,
    Extent,
    Filter,
    Rect,
    Sampler,
    TextureKind,
    Wrap,
)
from gpgpu_legacy.runtime.machine import Tuning

UNITS = 3
TEXCOORD_SETS = 3
PARAMETERS = 4

ANY_FLOAT = st.floats(width=32)
FINITE_FLOAT = st.floats(width=32, allow_nan=False, allow_infinity=False)
SEED = st.integers(0, 2**32 - 1)
SMALL_NUMBER = st.integers(-16, 16).map(lambda i: i / 4)
TILES = st.sampled_from((Tuning(tile=(2, 1)), Tuning(tile=(1, 2)), None))
"""Tiles of native code: two with short code, and the default."""

_LETTERS = ("xyzw", "rgba")
_NAMES = ("R0", "R1", "t", "$1", "_", "x", "RECT", "KIL_SAT", "a_longer_name")
_KINDS = tuple(kind for kind in TextureKind if kind is not TextureKind.BUFFER)

RANDOM = st.randoms(use_true_random=False)
"""A source of random choices that Hypothesis draws and shrinks."""


def vector(values: Sequence[float]) -> str:
    return "{" + ", ".join(map(repr, values)) + "}"


def vec4(values: st.SearchStrategy[float]) -> st.SearchStrategy[Vec4]:
    return st.tuples(values, values, values, values)


@dataclass(frozen=True)
class Reach:
    """The parts of the language that programs may use, besides the basic ones.

    Instructions, temporaries, parameters and coordinates are basic. targets: the texture target of
    each texture image unit. attributes, state: registers to read. results: registers to write.
    options: those that the program asks for.
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
    targets = tuple(draw(st.sampled_from(_KINDS)).value for _ in range(UNITS))
    results, options = ("result.color", "result.depth"), ()
    if draw(st.booleans()):
        results, options = (*results, "result.color[1]"), (DRAW_BUFFERS,)
    return Reach(targets, tuple(ATTRIBUTES), STATE, results, options)


@dataclass(frozen=True)
class Writer:
    """Writes instructions from the table of opcodes.

    number: gives the numbers of constants. targets: of the texture image units. given: registers to
    read besides temporaries, parameters and texture coordinates.
    """

    random: Random
    number: Callable[[], float]
    temporaries: Sequence[str]
    targets: Sequence[str]
    given: Sequence[str]

    def instruction(
        self,
        row: Opcode,
        dst: str,
        undefined: Sequence[int] = (),
        *,
        only_temporaries: bool = False,
    ) -> str:
        """An instruction of this opcode that writes to `dst`.

        undefined: components that are not written. only_temporaries: whether it reads only
        temporaries, without modifiers.
        """
        saturate = "_SAT" * (row.saturable and self.random.randrange(5) == 0)
        operands = []
        for kind in row.shape:
            match kind:
                case OperandKind.DESTINATION:
                    operands.append(dst + self.mask(undefined))
                case OperandKind.VECTOR | OperandKind.SCALAR:
                    sign = self.random.choice(("", "", "" if only_temporaries else "-"))
                    count = 1 if kind is OperandKind.SCALAR else self.random.choice((0, 1, 4, 4))
                    operands.append(sign + self.source(only_temporaries) + self.swizzle(count))
                case OperandKind.REGISTER:
                    operands.append(self.source(only_temporaries))
                case OperandKind.EXTENDED_SWIZZLE:
                    chosen = (self.random.choice("xyzw01") for _ in range(4))
                    operands.append(", ".join(self.random.choice(("", "-")) + c for c in chosen))
                case OperandKind.TEXTURE_UNIT:
                    unit = self.random.randrange(UNITS)
                    operands.append(f"texture[{unit}], {self.targets[unit]}")
        return f"{row.mnemonic}{saturate} {', '.join(operands)};"

    def mask(self, undefined: Sequence[int]) -> str:
        """A write mask, or none."""
        defined = "".join(c for n, c in enumerate("xyzw") if n not in undefined)
        chosen = "".join(c for c in defined if self.random.random() < 0.7) or defined
        return f".{chosen}" if undefined or self.random.randrange(2) else ""

    def swizzle(self, count: int) -> str:
        letters = self.random.choice(_LETTERS)
        chosen = "".join(self.random.choice(letters) for _ in range(count))
        return f".{chosen}" if chosen else ""

    def source(self, only_temporaries: bool) -> str:
        if only_temporaries or self.random.randrange(5) < 3:
            return self.random.choice(self.temporaries)
        return self.register()

    def register(self) -> str:
        """Any register that a program is given, or a constant."""
        random = self.random
        kind = random.randrange(5)
        if kind == 0:
            return f"program.{random.choice(('local', 'env'))}[{random.randrange(PARAMETERS)}]"
        if kind == 1:
            return random.choice((*self.given, "fragment.position"))
        if kind == 2:
            return f"fragment.texcoord[{random.randrange(TEXCOORD_SETS)}]"
        return vector([self.number() for _ in range(random.randint(1, 4))])


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
    random = draw(RANDOM)
    names = random.sample(_NAMES, random.randint(1, 4))
    given = (*reach.state, *reach.attributes)
    writer = Writer(random, lambda: draw(numbers), names, reach.targets, given)
    lines = [f"OPTION {option};" for option in reach.options]
    lines.append(f"TEMP {', '.join(names)};")
    for name in names:
        place = f"fragment.texcoord[{random.randrange(TEXCOORD_SETS)}]"
        lines.append(f"MOV {name}, {place}{writer.swizzle(random.choice((0, 1, 4)))};")
    for _ in range(random.randint(1, most)):
        row = ARBFP[random.choice(sorted(among or ARBFP))]
        lines.append(writer.instruction(row, random.choice((*names, *reach.results))))
    if random.randrange(2):  # the last word may be less than a vector
        lines.append(f"MOV result.color, {random.choice(names)};")
    return "\n".join(["!!ARBfp1.0", *lines, "END", ""])


@dataclass(frozen=True)
class Scene:
    """A program and everything that it may read: the inputs of one fragment pass.

    targets: how many textures it draws to.
    """

    text: str
    size: tuple[int, int]
    rect: Rect
    textures: dict[int, Image]
    texcoords: tuple[Texcoords, ...]
    local: dict[int, Vec4]
    env: dict[int, Vec4]
    attributes: tuple[AttributeCorners, ...] = ()
    state: dict[str, Vec4] = field(default_factory=dict)
    targets: int = 1


def draw_scene(scene: Scene, text: Program | None = None, **more: Any) -> list[F32]:
    """The texels of a scene, by `draw_all`, in textures of float32 unless `more` has other ones.

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


def random_image(
    random: Random,
    kind: TextureKind,
    texels: Callable[[tuple[int, int, int]], F32],
    *,
    detailed: bool = False,
) -> Image:
    """A small texture of a kind, with any sampler that it may have; `texels` fills it.

    detailed: it may be a mipmap, and need levels of detail.
    """
    a, b, channels = random.randint(1, 4), random.randint(1, 4), random.choice((1, 4))
    width, height, depth = {
        TextureKind.RECT: (a, b, 1), TextureKind.T1D: (a, 1, 1), TextureKind.T2D: (a, b, 1),
        TextureKind.T3D: (a, b, 5 - a), TextureKind.CUBE: (a, a, 6),
    }[kind]  # fmt: skip
    wraps = [wrap for wrap in Wrap if kind is not TextureKind.RECT or wrap not in REPEATING]
    s, t, r = (random.choice(wraps) for _ in range(3))
    plain = [Filter.NEAREST, Filter.LINEAR]
    border = (0.5, -2.0, 1.0, 0.25)
    sampler, extent = Sampler(random.choice(plain), s, t, r, border), Extent(width, height, depth)
    if detailed and random.randrange(2):
        is_mipmap = kind is not TextureKind.RECT
        most = extent.most_levels(kind) if is_mipmap else 1
        extent = replace(extent, levels=random.randint(1, most))
        sampler = replace(
            sampler,
            filter=random.choice(list(Filter) if is_mipmap else plain),
            magnify=random.choice(plain),
            bias=random.choice((0.0, 0.75, -1.5, 20.0)),
            min_lod=random.choice((-1000.0, 0.5)),
            max_lod=random.choice((1000.0, 1.25)),
            base_level=random.randrange(extent.levels),
            max_level=extent.levels - 1,
        )
    filled = texels((extent.rows, width, channels))
    return Image(filled, kind, depth, sampler, levels=extent.levels, height=height)


@st.composite
def images(draw: st.DrawFn, target: str, numbers: st.SearchStrategy[float]) -> Image:
    """A texture of that target: a quarter of its texels are drawn from `numbers`.

    The others are as different as can be.
    """
    some = draw(st.lists(numbers, min_size=1, max_size=8))
    rng = np.random.default_rng(draw(SEED))

    def texels(shape: tuple[int, int, int]) -> F32:
        others = rng.integers(-64, 64, shape) / 8
        chosen = np.where(rng.random(shape) < 0.25, rng.choice(some, shape), others)
        return chosen.astype(np.float32)

    return random_image(draw(RANDOM), TextureKind(target), texels)


def random_corners(
    random: Random, size: tuple[int, int], number: Callable[[], float]
) -> tuple[Vec4, Vec4, Vec4, Vec4]:
    """The corner values of an attribute that is level, lies in one plane, or is bent."""

    def quarters() -> Vec4:
        x, y, z, w = (random.randint(-16, 16) / 4 for _ in range(4))
        return (x, y, z, w)

    match random.randrange(3):
        case 0:
            return ((number(), number(), number(), number()),) * 4
        case 1:
            return corners(quarters(), quarters(), quarters(), *size)
    return (quarters(), quarters(), quarters(), quarters())


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
def whole_scenes(
    draw: st.DrawFn,
    numbers: st.SearchStrategy[float] = FINITE_FLOAT,
    values: st.SearchStrategy[float] = ANY_FLOAT,
    among: Sequence[str] | None = None,
    *,
    most: int = 10,
    options: Sequence[str] = (),
    reach: Reach | None = None,
) -> Scene:
    """A random program of the whole language, or of a reach, with all that it may read.

    numbers: of the program's constants; values: of everything else but the interpolated values.
    options: asked for besides ARB_draw_buffers.
    """
    size, rect = draw(_frames())
    reach = reach or draw(reaches())
    reach = replace(reach, options=(*reach.options, *options))
    random = draw(RANDOM)

    def interpolated() -> tuple[Vec4, Vec4, Vec4, Vec4]:
        return random_corners(
            random, (rect.width, rect.height), lambda: random.randint(-16, 16) / 4
        )

    kinds = [kind for kind in ATTRIBUTES.values() if random.randrange(2)]
    vectors = st.dictionaries(st.integers(0, PARAMETERS - 1), vec4(values))
    return Scene(
        draw(program_texts(numbers, most, among, reach)),
        size,
        rect,
        {unit: draw(images(target, values)) for unit, target in enumerate(reach.targets)},
        tuple(Texcoords(n, interpolated()) for n in range(TEXCOORD_SETS)),
        draw(vectors),
        draw(vectors),
        tuple(AttributeCorners(kind, interpolated()) for kind in kinds),
        {binding: draw(vec4(values)) for binding in STATE},
        draw(st.integers(2 if DRAW_BUFFERS in reach.options else 1, 2)),
    )
