"""A hypothesis strategy for whole plans: a few passes over small textures, some of which chain.

Three textures of one size and format take turns as targets, one more is only read. Draws look up
their own texel, places that move from iteration to iteration, and places of which nothing is known;
copies, clears, blends and discards stand between them, some in Repeats, some on other rectangles.
Lookups have any filter, wrap and border of rectangles. In some Repeats numbers have Tables, and
rectangles move (varying.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from drawing import F32, Image, Made, corners, show
from framebuffers import TARGETS, operations
from hypothesis import strategies as st
from strategies import ANY_FLOAT, SEED, Reach, program_texts, vec4, vector
from varying import Setting, varied

from gpgpu_legacy.isa.ir import AttributeKind
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.numbers import Affine, Number, NumberVec4
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    ClearPass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Pass,
    Repeat,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    FORMATS,
    REPEATING,
    Filter,
    Format,
    Numeric,
    Rect,
    Sampler,
    Wrap,
)

NAMES = ("P", "Q", "S")
GIVEN = "G"
SEPARATELY = "OPTION ARB_draw_buffers;"

# Four instructions of these on quarters make no denormal number and no infinity.
TAME = ("ABS", "ADD", "CMP", "DP3", "DP4", "FLR", "FRC", "KIL", "LRP", "MAD", "MAX", "MIN", "MOV",
        "MUL", "SGE", "SLT", "SUB", "SWZ", "TEX", "XPD")  # fmt: skip
QUARTER = st.integers(-16, 16).map(lambda i: i / 4)

_FILTERS = st.sampled_from((Filter.NEAREST, Filter.LINEAR))
_WRAPS = st.sampled_from([wrap for wrap in Wrap if wrap not in REPEATING])
SAMPLERS = st.just(Sampler()) | st.builds(
    Sampler,
    _FILTERS,
    _WRAPS,
    _WRAPS,
    border=st.sampled_from(((0.0, 0.0, 0.0, 0.0), (0.5, -2.0, 1.0, 0.25))),
    magnify=st.none() | _FILTERS,
    bias=st.sampled_from((0.0, 0.75, -1.5)),
)
"""Samplers of RECT textures; those of two filters need levels of detail."""


@dataclass(frozen=True)
class _Scene:
    """What the passes of one plan have in common."""

    extent: tuple[int, int]
    rect: Rect
    format: Format
    tame: bool
    samplers: st.SearchStrategy[Sampler]


def tame_text(body: str, results: int) -> str:
    """A program around the instructions of another's; its colours are quarters of [-8, 8]."""
    names = ["result.color"] if results == 1 else [f"result.color[{n}]" for n in range(results)]
    lines = ["!!ARBfp1.0", *([SEPARATELY] if results > 1 else []), "TEMP last;", body]
    for number, name in enumerate(names):
        register = ("R0", "R1", "R2")[number]
        lines += [f"MUL last, {register}, 4;", "FLR last, last;", "MUL last, last, 0.25;",
                  f"MAX last, last, -8;  MIN {name}, last, 8;"]  # fmt: skip
    return "\n".join([*lines, "END", ""])


@st.composite
def tame_bodies(draw: st.DrawFn) -> str:
    """Declarations and a few instructions that read lookups, places, parameters and constants."""
    lines = ["TEMP R0, R1, R2;"]
    for number in range(3):
        unit, place = draw(st.integers(0, 2)), draw(st.sampled_from((0, 0, 0, 1, 2)))
        lines.append(f"TEX R{number}, fragment.texcoord[{place}], texture[{unit}], RECT;")
    registers = ("R0", "R1", "R2", "program.local[0]", "program.env[1]", "fragment.texcoord[2]",
                 "fragment.position", "fragment.color", "state.texenv[1].color")  # fmt: skip

    def source() -> str:
        if draw(st.integers(0, 4)) == 0:
            return vector([draw(QUARTER)])
        swizzle = "".join(draw(st.sampled_from("xyzw")) for _ in range(4))
        return draw(st.sampled_from(("", "-"))) + draw(st.sampled_from(registers)) + "." + swizzle

    operands = {"ABS": 1, "FLR": 1, "FRC": 1, "MOV": 1, "CMP": 3, "LRP": 3, "MAD": 3}
    for _ in range(draw(st.integers(1, 4))):
        opcode = draw(st.sampled_from(TAME))
        target = f"R{draw(st.integers(0, 2))}" + draw(st.sampled_from(("", ".x", ".yw", ".xyz")))
        match opcode:
            case "KIL":
                lines.append(f"KIL {source()};")
            case "TEX":
                lines.append(f"TEX {target}, {source()}, texture[{draw(st.integers(0, 2))}], RECT;")
            case "SWZ":
                lines.append(f"SWZ {target}, {draw(st.sampled_from(registers))}, -x, 0, 1, y;")
            case _:
                listed = ", ".join(source() for _ in range(operands.get(opcode, 2)))
                lines.append(f"{opcode} {target}, {listed};")
    return "\n".join(lines)


@st.composite
def _texts(draw: st.DrawFn, scene: _Scene, results: int) -> str:
    if scene.tame:
        return tame_text(draw(tame_bodies()), results)
    options = ("ARB_draw_buffers",) if results > 1 else ()
    names = ("result.color", *(f"result.color[{n}]" for n in range(1, results)))
    return draw(program_texts(ANY_NUMBER, 6, reach=Reach(results=names, options=options)))


ANY_NUMBER = st.floats(width=32, allow_nan=False, allow_infinity=False)


def _moving(n: int, four: Sequence[NumberVec4], step: tuple[float, float]) -> Texcoords:
    """Coordinates that move on by a step from iteration to iteration."""

    def moved(number: Number, by: float) -> Number:
        assert isinstance(number, float)
        return Affine(number, by) if by else number

    a, b, c, d = ((moved(v[0], step[0]), moved(v[1], step[1]), v[2], v[3]) for v in four)
    return Texcoords(n, (a, b, c, d))


@st.composite
def _places(draw: st.DrawFn, scene: _Scene) -> tuple[Texcoords, ...]:
    """Set 0: the fragment's own texel. Set 1: one that moves. Set 2: any plane."""
    rect, whole = scene.rect, st.integers(-2, 3).map(float)
    slopes = st.sampled_from(((1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (2.0, 0.0), (-1.0, 0.0)))
    (sx, sy), (tx, ty) = draw(slopes), draw(slopes)
    half = [0.5 if (x + y) % 2 == 0 else 0.0 for x, y in ((sx, sy), (tx, ty))]
    moving = ((draw(whole) + half[0], draw(whole) + half[1], 0.0, 1.0),
              (sx, tx, 0.0, 0.0), (sy, ty, 0.0, 0.0))  # fmt: skip
    own = ((float(rect.x), float(rect.y), 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0))
    any_plane = tuple(draw(vec4(QUARTER)) for _ in range(3))
    size = (rect.width, rect.height)
    step = (draw(st.sampled_from((0.0, 0.0, 1.0, 2.0))), draw(st.sampled_from((0.0, 0.0, -1.0))))
    return (
        Texcoords(0, corners(*own, *size)),
        _moving(1, corners(*moving, *size), step),
        Texcoords(2, corners(*any_plane, *size)),
    )


@st.composite
def _parameters(draw: st.DrawFn) -> tuple[ParameterValue, ...]:
    x, y, z, w = draw(vec4(QUARTER))
    moves = draw(st.booleans())
    return (ParameterValue(draw(st.integers(0, 1)), (Affine(x, 0.25) if moves else x, y, z, w)),)


@st.composite
def _colours(draw: st.DrawFn, scene: _Scene) -> tuple[AttributeCorners, ...]:
    """The primary colour, the same everywhere, or none."""
    if draw(st.booleans()):
        return ()
    value = draw(vec4(QUARTER))
    return (AttributeCorners(AttributeKind.COLOR, (value, value, value, value)),)


@st.composite
def _rects(draw: st.DrawFn, scene: _Scene) -> Rect:
    """Mostly the one that the plan's draws share."""
    if draw(st.integers(0, 5)):
        return scene.rect
    width, height = scene.extent
    x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    return Rect(x, y, draw(st.integers(1, width - x)), draw(st.integers(1, height - y)))


@st.composite
def _draws(draw: st.DrawFn, scene: _Scene) -> FragmentPass:
    results = draw(st.sampled_from((1, 1, 1, 2)))
    targets = draw(st.permutations(NAMES))[:results]
    readable = [*(name for name in NAMES if name not in targets), GIVEN]
    rect = draw(_rects(scene))
    return FragmentPass(
        assemble(draw(_texts(scene, results)), name="random.fp"),
        tuple(Binding(n, draw(st.sampled_from(readable)), draw(scene.samplers)) for n in range(3)),
        tuple(targets),
        rect,
        draw(_places(scene)),
        draw(_parameters()),
        draw(_parameters()),
        attributes=draw(_colours(scene)),
        **draw(operations(rect, scene.format, tame=scene.tame)),
    )


@st.composite
def _copies(draw: st.DrawFn, scene: _Scene) -> CopyPass:
    source, target, _ = draw(st.permutations(NAMES))
    rect = draw(_rects(scene))
    x = draw(st.sampled_from((rect.x, 0, scene.extent[0] - rect.width)))
    return CopyPass(source, rect, target, Rect(x, rect.y, rect.width, rect.height))


@st.composite
def _passes(draw: st.DrawFn, scene: _Scene) -> Pass:
    match draw(st.integers(0, 6)):
        case 0:
            value = draw(vec4(QUARTER if scene.tame else ANY_FLOAT))
            return ClearPass(draw(st.sampled_from(NAMES)), value)
        case 1 | 2:
            return draw(_copies(scene))
    return draw(_draws(scene))


@st.composite
def _unrolled(draw: st.DrawFn) -> str:
    """R0, the fragment's own texel, and lookups in a row of texels added to it, as by a loop."""
    lines = ["TEMP R0, R1, R2, at;", "TEX R0, fragment.texcoord[0], texture[0], RECT;"]
    factor, kills = draw(st.sampled_from((1.0, -1.0, 0.5))), draw(st.integers(0, 3)) == 0
    step = draw(st.sampled_from(((1.0, 0.0), (0.0, 1.0), (2.0, -1.0), (0.0, 0.0))))
    for turn in range(draw(st.integers(1, 13))):
        offset = vector([step[0] * turn, step[1] * turn, 0.0, 0.0])
        lines += [f"ADD at, fragment.texcoord[1], {offset};", "TEX R1, at, texture[1], RECT;",
                  f"MAD R0, R1.yxzw, {vector([factor] * 4)}, R0;"]  # fmt: skip
        lines += ["ADD R2, R0, 9;", "KIL R2;"] if kills else []
    return "\n".join(lines)


@st.composite
def _chains(draw: st.DrawFn, scene: _Scene) -> Repeat:
    """Passes that chain: by a copy, by two textures that take turns, or by blending."""
    one, two, read = draw(st.permutations(NAMES))
    read = draw(st.sampled_from((read, GIVEN)))

    def drawn(target: str, own: str, *, blends: bool = False) -> FragmentPass:
        text = tame_text(draw(_unrolled() if draw(st.booleans()) else tame_bodies()), 1)
        names = (own, read, GIVEN)
        bindings = tuple(Binding(n, name, draw(scene.samplers)) for n, name in enumerate(names))
        places, local, env = (draw(_places(scene)), draw(_parameters()), draw(_parameters()))
        program = assemble(text, name="random.fp")
        given = draw(operations(scene.rect, scene.format, tame=True))
        given = {**given, "blend": given["blend"] or ADD if blends else None}
        return FragmentPass(program, bindings, (target,), scene.rect, places, local, env, **given)

    match draw(st.sampled_from(("copy", "turns", "blend"))):
        case "copy":
            body: tuple[Pass, ...] = (
                drawn(one, two),
                CopyPass(one, scene.rect, two, scene.rect),
            )
        case "turns":
            body = (drawn(one, two), drawn(two, one))
        case _:
            body = (drawn(one, read, blends=True),)
    return draw(_repeats(scene, draw(st.integers(1, 4)), body))


@st.composite
def _repeats(draw: st.DrawFn, scene: _Scene, count: int, body: tuple[Pass, ...]) -> Repeat:
    """A Repeat of a body, whose passes have Tables in one of three."""
    if draw(st.integers(0, 2)):
        return Repeat(count, body)
    numbers = QUARTER if scene.tame else ANY_FLOAT
    setting = Setting(count, scene.extent, numbers, QUARTER)
    return Repeat(count, tuple(draw(varied(setting, pass_)) for pass_ in body))


@st.composite
def _steps(draw: st.DrawFn, scene: _Scene) -> tuple[Step, ...]:
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 2))):
        if draw(st.integers(0, 2)) == 0:
            steps.append(draw(_chains(scene)))
            continue
        body = draw(st.lists(_passes(scene), min_size=1, max_size=3))
        if draw(st.integers(0, 3)):
            count = draw(st.sampled_from((0, 1, 2, 3, 5)))
            steps.append(draw(_repeats(scene, count, tuple(body))))
        else:
            steps += [at_iteration(pass_, 0) for pass_ in body]
    return tuple(steps)


@st.composite
def plans(
    draw: st.DrawFn, *, tame: bool = False, samplers: st.SearchStrategy[Sampler] = SAMPLERS
) -> Made:
    """A random plan that shows all that it writes.

    tame: whether it keeps to numbers and opcodes with which every machine gets the same bits.
    """
    width = draw(st.sampled_from((1, 2, 3, 5, 17, 67)))
    height = draw(st.sampled_from((1, 2, 3, 7, 19)))
    x, right, y, above = (draw(st.sampled_from((0, 0, 1, 3))) for _ in range(4))
    extent = (x + width + right, y + height + above)
    # No 16 bits of fixed point if tame: they hold no quarters, and a FLR shows a driver's last bit.
    targets = [name for name in TARGETS if not (tame and name in ("unorm16", "rg16", "rgba16"))]
    texel_format = FORMATS[draw(st.sampled_from(targets))]
    scene = _Scene(extent, Rect(x, y, width, height), texel_format, tame, samplers)
    rng = np.random.default_rng(draw(SEED))
    sizes = dict.fromkeys(NAMES, (extent[1], extent[0], texel_format.channels))
    some = [] if tame else draw(st.lists(ANY_FLOAT, min_size=1, max_size=4))
    images = {
        name: Image(_texels(rng, size, some, texel_format), format=texel_format)
        for name, size in sizes.items()
    }
    side = draw(st.sampled_from((1, 4, 70)))
    formats = [name for name in sorted(FORMATS) if not tame or name.endswith("32f")]
    given = FORMATS[draw(st.sampled_from(("rgba32f", *formats)))]
    texels = _texels(rng, (side, side, given.channels), some, given)
    images[GIVEN] = Image(texels, format=given)
    target, *also = (images[name].texture(name) for name in NAMES)
    return Made(show(draw(_steps(scene)), target, images, also=also), images)


def _texels(
    rng: np.random.Generator,
    size: tuple[int, int, int],
    some: Sequence[float],
    texel_format: Format,
) -> F32:
    """Quarters, and here and there some other number; 8 bits hold sixteenths from 0 to 1."""
    texels = rng.integers(-16, 17, size) / 4
    if texel_format.numeric is Numeric.UNORM:
        texels = np.abs(texels) / 4
    elif some:
        texels = np.where(rng.random(size) < 0.1, rng.choice(some, size), texels)
    return texels.astype(np.float32)
