"""A hypothesis strategy for whole plans: a few passes over small textures; some can be fused.

Three textures of one size and format alternate as targets; a fourth is only read. Draws look up
their own texel, places that move from iteration to iteration, and places of which nothing is known.
Copies, clears, blends and discards stand between them, some in Repeats, some on other rectangles.
The three are rectangle textures or mipmaps; their levels are uploaded, unless they begin with a
value, and copied to. The fourth has any kind, format and number of levels. Lookups have any filter,
wrap, border, bias and comparison, and levels of detail. In some Repeats numbers have Tables, and
rectangles move (varying.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from drawing import F32, Image, Made, corners, show
from framebuffers import TARGETS, operations
from hypothesis import strategies as st
from strategies import ANY_FLOAT, DRAW_BUFFERS, SEED, Reach, program_texts, vec4, vector
from varying import Setting, varied

from gpgpu_legacy.isa.program import SHADOW, AttributeKind, TextureTarget
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
    Compare,
    Extent,
    Filter,
    Format,
    Numeric,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
    level_rect,
)

NAMES = ("P", "Q", "S")
GIVEN = "G"

# Four instructions of these on quarters make no denormal number and no infinity.
TAME = ("ABS", "ADD", "CMP", "DP3", "DP4", "FLR", "FRC", "KIL", "LRP", "MAD", "MAX", "MIN", "MOV",
        "MUL", "SGE", "SLT", "SUB", "SWZ", "TEX", "TXB", "XPD")  # fmt: skip
QUARTER = st.integers(-16, 16).map(lambda i: i / 4)

_PLAIN = (Filter.NEAREST, Filter.LINEAR)
_KINDS = [kind for kind in TextureKind if kind is not TextureKind.BUFFER]
_DRAWN_TO = (TextureKind.RECT, TextureKind.RECT, TextureKind.T2D)
_SIDES = st.sampled_from((1, 4, 7, 12, 70))
_OF_DEPTHS = [kind for kind in _KINDS if f"SHADOW{kind.value}" in {t.value for t in TextureTarget}]


@st.composite
def _samplers(draw: st.DrawFn, texture: Texture) -> Sampler:
    """Any sampler of a texture; for a texture of depths it may compare."""
    is_rectangle, levels = texture.kind is TextureKind.RECT, texture.extent.levels
    if draw(st.integers(0, 2)) == 0:
        return Sampler()
    wraps = [wrap for wrap in Wrap if not (is_rectangle and wrap in REPEATING)]
    s, t, r = (draw(st.sampled_from(wraps)) for _ in range(3))
    base = draw(st.integers(0, levels - 1))
    return Sampler(
        draw(st.sampled_from(_PLAIN if is_rectangle else tuple(Filter))), s, t, r,
        border=draw(st.sampled_from(((0.0, 0.0, 0.0, 0.0), (0.5, -2.0, 1.0, 0.25)))),
        magnify=draw(st.sampled_from((None, *_PLAIN))),
        bias=draw(st.sampled_from((0.0, 0.75, -1.5, 20.0))),
        min_lod=draw(st.sampled_from((-1000.0, -1000.0, 0.5))),
        max_lod=draw(st.sampled_from((1000.0, 1000.0, 1.25))),
        base_level=base,
        max_level=draw(st.integers(base, levels - 1)),
        compare=draw(st.sampled_from((None, *Compare))) if texture.format.is_depth else None,
    )  # fmt: skip


@dataclass(frozen=True)
class _Scene:
    """What the passes of one plan share. plain: whether all lookups read the nearest texel."""

    textures: Mapping[str, Texture]
    rect: Rect
    tame: bool
    plain: bool

    @property
    def target(self) -> Texture:
        """One of the three targets."""
        return self.textures[NAMES[0]]

    @property
    def extent(self) -> tuple[int, int]:
        return self.target.extent.width, self.target.extent.height

    @property
    def format(self) -> Format:
        return self.target.format

    @property
    def texel(self) -> tuple[float, float]:
        """The distance of neighbouring texels of a target, in coordinates."""
        if self.target.kind is TextureKind.RECT:
            return 1.0, 1.0
        return 1.0 / self.extent[0], 1.0 / self.extent[1]


def tame_text(body: str, options: Sequence[str], results: int) -> str:
    """A program with the instructions of `body`; its colours are quarters of [-8, 8]."""
    names = ["result.color"] if results == 1 else [f"result.color[{n}]" for n in range(results)]
    lines = ["!!ARBfp1.0", *(f"OPTION {option};" for option in options), "TEMP last;", body]
    for number, name in enumerate(names):
        register = ("R0", "R1", "R2")[number]
        lines += [f"MUL last, {register}, 4;", "FLR last, last;", "MUL last, last, 0.25;",
                  f"MAX last, last, -8;  MIN {name}, last, 8;"]  # fmt: skip
    return "\n".join([*lines, "END", ""])


@st.composite
def tame_bodies(draw: st.DrawFn, targets: Sequence[str]) -> str:
    """Declarations and a few instructions that read lookups, places, parameters and constants."""
    lines = ["TEMP R0, R1, R2;"]
    for number in range(3):
        unit, place = draw(st.integers(0, 2)), draw(st.sampled_from((0, 0, 0, 1, 2)))
        looks = draw(st.sampled_from(("TEX", "TEX", "TXB")))
        from_ = f"fragment.texcoord[{place}], texture[{unit}], {targets[unit]}"
        lines.append(f"{looks} R{number}, {from_};")
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
            case "TEX" | "TXB":
                unit = draw(st.integers(0, 2))
                lines.append(f"{opcode} {target}, {source()}, texture[{unit}], {targets[unit]};")
            case "SWZ":
                lines.append(f"SWZ {target}, {draw(st.sampled_from(registers))}, -x, 0, 1, y;")
            case _:
                listed = ", ".join(source() for _ in range(operands.get(opcode, 2)))
                lines.append(f"{opcode} {target}, {listed};")
    return "\n".join(lines)


@st.composite
def _bindings(draw: st.DrawFn, scene: _Scene, names: Sequence[str]) -> tuple[Binding, ...]:
    plain = st.just(Sampler())
    return tuple(
        Binding(n, name, draw(plain if scene.plain else _samplers(scene.textures[name])))
        for n, name in enumerate(names)
    )


def _targets(scene: _Scene, bindings: Sequence[Binding]) -> tuple[str, ...]:
    """The texture targets of these bindings, as programs name them."""
    return tuple(
        "SHADOW" * (b.sampler.compare is not None) + scene.textures[b.texture].kind.value
        for b in bindings
    )


def _options(targets: Sequence[str], results: int = 1) -> tuple[str, ...]:
    compares = any(target.startswith("SHADOW") for target in targets)
    return (*[SHADOW] * compares, *[DRAW_BUFFERS] * (results > 1))


@st.composite
def _texts(draw: st.DrawFn, scene: _Scene, targets: tuple[str, ...], results: int) -> str:
    options = _options(targets, results)
    if scene.tame:
        return tame_text(draw(tame_bodies(targets)), options, results)
    names = ("result.color", *(f"result.color[{n}]" for n in range(1, results)))
    reach = Reach(targets, results=names, options=options)
    return draw(program_texts(ANY_NUMBER, 6, reach=reach))


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
    rect, whole, (du, dv) = scene.rect, st.integers(-2, 3).map(float), scene.texel
    slopes = st.sampled_from(((1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (2.0, 0.0), (-1.0, 0.0)))
    (sx, sy), (tx, ty) = draw(slopes), draw(slopes)
    half = [0.5 if (x + y) % 2 == 0 else 0.0 for x, y in ((sx, sy), (tx, ty))]
    moving = (((draw(whole) + half[0]) * du, (draw(whole) + half[1]) * dv, 0.0, 1.0),
              (sx * du, tx * dv, 0.0, 0.0), (sy * du, ty * dv, 0.0, 0.0))  # fmt: skip
    own = ((rect.x * du, rect.y * dv, 0.0, 1.0), (du, 0.0, 0.0, 0.0), (0.0, dv, 0.0, 0.0))
    slope = draw(st.sampled_from((1.0, 1.0 / 16)))
    base, *steps = (draw(vec4(QUARTER)) for _ in range(3))
    any_plane = (base, *((a * slope, b * slope, c * slope, d * slope) for a, b, c, d in steps))
    size = (rect.width, rect.height)
    right, up = (draw(st.sampled_from(by)) for by in ((0.0, 0.0, 1.0, 2.0), (0.0, 0.0, -1.0)))
    return (
        Texcoords(0, corners(*own, *size)),
        _moving(1, corners(*moving, *size), (right * du, up * dv)),
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
    """Mostly the rectangle that the plan's draws share."""
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
    bindings = draw(_bindings(scene, [draw(st.sampled_from(readable)) for _ in range(3)]))
    return FragmentPass(
        assemble(draw(_texts(scene, _targets(scene, bindings), results)), name="random.fp"),
        bindings,
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
    """A copy within level 0, or from level to level."""
    source, target, _ = draw(st.permutations(NAMES))
    if draw(st.booleans()) and scene.target.extent.levels > 1:
        numbers = st.integers(0, scene.target.extent.levels - 1)
        here, there = (level_rect(scene.target, draw(numbers)) for _ in range(2))
        size = (
            draw(st.integers(1, min(here.width, there.width))),
            draw(st.integers(1, min(here.height, there.height))),
        )
        return CopyPass(source, Rect(here.x, here.y, *size), target, Rect(there.x, there.y, *size))
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
def _unrolled(draw: st.DrawFn, targets: Sequence[str]) -> str:
    """An unrolled loop: to R0, the fragment's own texel, it adds lookups in a row of texels."""
    lines = ["TEMP R0, R1, R2, at;", f"TEX R0, fragment.texcoord[0], texture[0], {targets[0]};"]
    factor, kills = draw(st.sampled_from((1.0, -1.0, 0.5))), draw(st.integers(0, 3)) == 0
    step = draw(st.sampled_from(((1.0, 0.0), (0.0, 1.0), (2.0, -1.0), (0.0, 0.0))))
    for turn in range(draw(st.integers(1, 13))):
        offset = vector([step[0] * turn, step[1] * turn, 0.0, 0.0])
        lines += [f"ADD at, fragment.texcoord[1], {offset};",
                  f"TEX R1, at, texture[1], {targets[1]};",
                  f"MAD R0, R1.yxzw, {vector([factor] * 4)}, R0;"]  # fmt: skip
        lines += ["ADD R2, R0, 9;", "KIL R2;"] if kills else []
    return "\n".join(lines)


@st.composite
def _chains(draw: st.DrawFn, scene: _Scene) -> Repeat:
    """Passes that can be fused: with a copy, two alternating textures, or blending."""
    one, two, read = draw(st.permutations(NAMES))
    read = draw(st.sampled_from((read, GIVEN)))

    def drawn(target: str, own: str, *, blends: bool = False) -> FragmentPass:
        bindings = draw(_bindings(scene, (own, read, GIVEN)))
        targets = _targets(scene, bindings)
        body = draw((_unrolled if draw(st.booleans()) else tame_bodies)(targets))
        text = tame_text(body, _options(targets), 1)
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
    """A Repeat of a body; in one of three, its passes have Tables."""
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
def _extents(draw: st.DrawFn, kind: TextureKind, size: tuple[int, int, int]) -> Extent:
    """The extent of a texture of that kind, with as many sides as the kind has."""
    width, height, depth = size
    extent = {
        TextureKind.T1D: Extent(width, 1),
        TextureKind.T3D: Extent(width, height, depth),
        TextureKind.CUBE: Extent(width, width, 6),
    }.get(kind, Extent(width, height))
    most = 1 if kind is TextureKind.RECT else extent.most_levels(kind)
    return replace(extent, levels=draw(st.integers(1, most)))


@st.composite
def plans(draw: st.DrawFn, *, tame: bool = False, plain: bool = False) -> Made:
    """A random plan that shows all that it writes.

    tame: whether it keeps to numbers and opcodes with which every machine gets the same bits.
    plain: whether all textures are rectangles, and all lookups read the nearest texel.
    """
    width = draw(st.sampled_from((1, 2, 3, 5, 17, 67)))
    height = draw(st.sampled_from((1, 2, 3, 7, 19)))
    x, right, y, above = (draw(st.sampled_from((0, 0, 1, 3))) for _ in range(4))
    size = (x + width + right, y + height + above, 1)
    rectangle = st.just(TextureKind.RECT)
    # No 16 bits of fixed point if tame: they hold no quarters, and a FLR shows a driver's last bit.
    targets = [name for name in TARGETS if not (tame and name in ("unorm16", "rg16", "rgba16"))]
    formats = [name for name in sorted(FORMATS) if not tame or name.endswith("32f")]
    given_formats = st.sampled_from(("rgba32f", "depth32f")) | st.sampled_from(formats)
    rng = np.random.default_rng(draw(SEED))
    some = [] if tame else draw(st.lists(ANY_FLOAT, min_size=1, max_size=4))

    def image(kind: TextureKind, texel_format: Format, extent: Extent) -> Image:
        texels = _texels(
            rng, (extent.rows, extent.width, texel_format.channels), some, texel_format
        )
        levels, height = extent.levels, extent.height
        return Image(texels, kind, extent.depth, format=texel_format, levels=levels, height=height)

    kind = draw(rectangle if plain else st.sampled_from(_DRAWN_TO))
    texel_format, extent = FORMATS[draw(st.sampled_from(targets))], draw(_extents(kind, size))
    images = {name: image(kind, texel_format, extent) for name in NAMES}
    given, side = FORMATS[draw(given_formats)], draw(_SIDES)
    kinds = _OF_DEPTHS if given.is_depth else [TextureKind.RECT, *_KINDS]
    kind = draw(rectangle if plain else st.sampled_from(kinds))
    sides = (side, side, 1) if kind is TextureKind.RECT else (side, draw(_SIDES), draw(_SIDES))
    images[GIVEN] = image(kind, given, draw(_extents(kind, sides)))
    textures = {name: made.texture(name) for name, made in images.items()}
    for name in draw(st.sampled_from((NAMES[:0], NAMES[:1], NAMES[1:]))):  # nothing is uploaded
        textures[name] = replace(textures[name], initial=(0.5, 0.25, 1.0, 0.75))
        del images[name]
    scene = _Scene(textures, Rect(x, y, width, height), tame, plain)
    target, *also = (textures[name] for name in NAMES)
    return Made(show(draw(_steps(scene)), target, images, also=also), images)


def _texels(
    rng: np.random.Generator,
    size: tuple[int, int, int],
    some: Sequence[float],
    texel_format: Format,
) -> F32:
    """Quarters, now and then another number; with 8 bits, sixteenths from 0 to 1."""
    texels = rng.integers(-16, 17, size) / 4
    if texel_format.numeric is Numeric.UNORM:
        texels = np.abs(texels) / 4
    elif some:
        texels = np.where(rng.random(size) < 0.1, rng.choice(some, size), texels)
    return texels.astype(np.float32)
