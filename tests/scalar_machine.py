"""A second, deliberately naive interpreter: one fragment at a time, one np.float32 at a time.

It shares only the data structures of programs and plans with the package. Meanings are written from
the text of ARB_fragment_program (sections 3.11.3 to 3.11.6), those of lookups from GL 1.5, section
3.8. Functions that the specification approximates are computed in float64 and rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from drawing import Image
from numpy.typing import NDArray
from strategies import Scene

from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    Dst,
    Fog,
    Instruction,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.plan.plan import Corners
from gpgpu_legacy.plan.textures import Filter, Rect, Sampler, TextureKind, Wrap

F = np.float32
Vector = list[np.float32]
ZERO, ONE, HALF = F(0), F(1), F(0.5)


# Arithmetic --------------------------------------------------------------------------------------


def fraction(a: np.float32) -> np.float32:
    """The fraction, in [0, 1): the number below 1 if the difference rounds to 1."""
    exact = F(a - floor(a))
    return F(1 - 2.0**-24) if exact == 1 else exact


def floor(a: np.float32) -> np.float32:
    return F(math.floor(a)) if math.isfinite(a) else a


COMPONENTWISE: dict[str, Callable[..., np.float32]] = {
    "ABS": lambda a: F(abs(a)),
    "ADD": lambda a, b: F(a + b),
    "CMP": lambda a, b, c: b if a < 0 else c,
    "FLR": floor,
    "FRC": fraction,
    "LRP": lambda a, b, c: F(F(a * b) + F(F(ONE - a) * c)),
    "MAD": lambda a, b, c: F(F(a * b) + c),
    "MAX": lambda a, b: a if a > b else b,
    "MIN": lambda a, b: b if a > b else a,
    "MOV": lambda a: a,
    "MUL": lambda a, b: F(a * b),
    "SGE": lambda a, b: ONE if a >= b else ZERO,
    "SLT": lambda a, b: ONE if a < b else ZERO,
    "SUB": lambda a, b: F(a - b),
    "SWZ": lambda a: a,
}


def approximated(function: Callable[..., float]) -> Callable[..., np.float32]:
    """The function in float64; NaN where it has no value."""

    def value(*sources: np.float32) -> np.float32:
        try:
            return F(function(*map(float, sources)))
        except (ValueError, OverflowError):
            return F(math.nan)

    return value


def power_of_2(a: float) -> float:
    return math.inf if a > 200 else 2.0**a


def logarithm(a: float) -> float:
    return -math.inf if a == 0 else math.log2(a)


def power(a: float, b: float) -> float:
    """a to the power b: NaN for a negative base, 1 for 0^0, infinity for 0 to less than 0."""
    if a < 0:
        return math.nan
    if a == 0 and b < 0:
        return math.inf
    try:
        return math.pow(abs(a), b)
    except OverflowError:
        return math.inf


def reciprocal_root(a: float) -> float:
    return math.inf if a == 0 else 1 / math.sqrt(abs(a))


SCALAR: dict[str, Callable[..., np.float32]] = {
    "COS": approximated(math.cos),
    "EX2": approximated(power_of_2),
    "LG2": approximated(logarithm),
    "POW": approximated(power),
    "RCP": lambda a: F(ONE / a),
    "RSQ": approximated(reciprocal_root),
    "SIN": approximated(math.sin),
}


def dot_product(a: Vector, b: Vector, components: int) -> np.float32:
    """The dot product, added from x on; 3.11.5 leaves the order open, the package fixes it."""
    total = F(a[0] * b[0])
    for c in range(1, components):
        total = F(total + F(a[c] * b[c]))
    return total


def light(a: Vector) -> Vector:
    """LIT as in 3.11.5.13, line by line."""
    x, y, w = a[0], a[1], a[3]
    limit = F(128 - 2.0**-17)
    if x < 0:
        x = ZERO
    if y < 0:
        y = ZERO
    if w < -limit:
        w = F(-limit)
    elif w > limit:
        w = limit
    return [ONE, x, approximated(power)(y, w) if x > 0 else ZERO, ONE]


def cross(a: Vector, b: Vector) -> Vector:
    def term(i: int, j: int) -> np.float32:
        return F(F(a[i] * b[j]) - F(a[j] * b[i]))

    return [term(1, 2), term(2, 0), term(0, 1), ZERO]


VECTOR: dict[str, Callable[..., Vector]] = {
    "DP3": lambda a, b: [dot_product(a, b, 3)] * 4,
    "DP4": lambda a, b: [dot_product(a, b, 4)] * 4,
    "DPH": lambda a, b: [F(dot_product(a, b, 3) + b[3])] * 4,
    "DST": lambda a, b: [ONE, F(a[1] * b[1]), a[2], b[3]],
    "LIT": light,
    "SCS": lambda a: [SCALAR["COS"](a[0]), SCALAR["SIN"](a[0]), ZERO, ZERO],
    "XPD": cross,
}
LOOKUPS: dict[str, Callable[[Vector], Vector]] = {
    "TEX": lambda a: a[:3],
    "TXB": lambda a: a[:3],
    "TXP": lambda a: [F(c / a[3]) for c in a[:3]],
}
KILL = {"KIL"}

APPROXIMATE = (set(SCALAR) | {"LIT", "SCS"}) - {"RCP"}
"""The opcodes that the spec lets differ by a few units in the last place."""


def known() -> set[str]:
    """The opcodes that this interpreter can execute."""
    return set(COMPONENTWISE) | set(SCALAR) | set(VECTOR) | set(LOOKUPS) | KILL


def saturated(value: np.float32) -> np.float32:
    """The value clamped to [0, 1] (3.11.4.3); NaN gives 0, as on hardware."""
    if value < 0 or math.isnan(value):
        return ZERO
    return ONE if value > 1 else value


# Fragments ---------------------------------------------------------------------------------------


def run(program: Program, scene: Scene) -> NDArray[np.float32]:
    """The first target after the pass: (height, width, 4), zeros where nothing was drawn."""
    return run_all(program, scene)[0]


def run_all(program: Program, scene: Scene) -> list[NDArray[np.float32]]:
    """Every target after the pass, each a float texture of zeros before it."""
    width, height = scene.size
    targets = [np.zeros((height, width, 4), np.float32) for _ in range(scene.targets)]
    with np.errstate(all="ignore"):
        for y in range(scene.rect.height):
            for x in range(scene.rect.width):
                fragment = _Fragment(program, scene, x, y)
                fragment.run()
                if fragment.killed:
                    continue
                for n, target in enumerate(targets):
                    target[scene.rect.y + y, scene.rect.x + x] = fragment.color(n)
    return targets


def interpolated(corners: Corners, rect: Rect, x: int, y: int) -> Vector:
    """The plane through the corner values, or that of the triangle that the centre lies in."""
    origin, right, far, top = (np.array(corner, np.float64) for corner in corners)
    largest = np.maximum(1, np.abs([origin, right, far, top]).max(axis=0))
    dx, dy = right - origin, top - origin
    if (abs(origin + far - right - top) > 1e-6 * largest).any():
        if (2 * y + 1) * rect.width <= (2 * x + 1) * rect.height:
            dy = far - right
        else:
            dx = far - top
    actual = []
    for c in range(4):
        value = F(F(origin[c]) + F(F(dx[c] / rect.width) * F(x + 0.5)))
        actual.append(F(value + F(F(dy[c] / rect.height) * F(y + 0.5))))
    return actual


class _Fragment:
    def __init__(self, program: Program, scene: Scene, x: int, y: int) -> None:
        rect = scene.rect
        self.program, self.scene = program, scene
        self.killed = False
        self.attributes: dict[Attribute, Vector] = {
            Attribute(AttributeKind.COLOR): [ONE, ONE, ONE, ONE],
            Attribute(AttributeKind.POSITION): [
                F(rect.x + x + 0.5),
                F(rect.y + y + 0.5),
                HALF,
                ONE,
            ],
        }
        for t in scene.texcoords:
            place = Attribute(AttributeKind.TEXCOORD, t.set)
            self.attributes[place] = interpolated(t.corners, rect, x, y)
        for a in scene.attributes:
            value = interpolated(a.corners, rect, x, y)
            is_fog = a.kind is AttributeKind.FOGCOORD
            self.attributes[Attribute(a.kind)] = [value[0], ZERO, ZERO, ONE] if is_fog else value
        self.temporaries: dict[str, Vector] = {}
        self.results: dict[ResultRegister, Vector] = {}

    def run(self) -> None:
        for instruction in self.program.instructions:
            self.execute(instruction)
            if self.killed:
                return

    def execute(self, instruction: Instruction) -> None:
        sources = [self.load(src) for src in instruction.srcs]
        name = instruction.mnemonic
        if name in KILL:
            self.killed = any(component < 0 for component in sources[0])
            return
        if name in LOOKUPS:
            assert instruction.texture is not None
            image = self.scene.textures[instruction.texture.unit]
            result = look_up(image, LOOKUPS[name](sources[0]))
        elif name in SCALAR:
            result = [SCALAR[name](*(source[0] for source in sources))] * 4
        elif name in VECTOR:
            result = VECTOR[name](*sources)
        else:
            result = [COMPONENTWISE[name](*(source[c] for source in sources)) for c in range(4)]
        if instruction.saturate:
            result = [saturated(r) for r in result]
        assert instruction.dst is not None
        destination = self.destination(instruction.dst)
        for c in range(4):
            if instruction.dst.mask[c]:
                destination[c] = result[c]

    def load(self, src: Src) -> Vector:
        register = [*self.register(src), ZERO, ONE]  # SWZ's selectors 4 and 5
        picked = [register[selector.value] for selector in src.swizzle]
        return [F(-p) if negative else p for p, negative in zip(picked, src.negate, strict=True)]

    def register(self, src: Src) -> Vector:
        register = src.register
        if isinstance(register, Temporary):
            return self.temporaries.setdefault(register.name, [ZERO] * 4)
        if isinstance(register, Attribute):
            return self.attributes.get(register, [ZERO, ZERO, ZERO, ONE])
        spaces: dict[ParameterSpace, Mapping[int, tuple[float, ...]]] = {
            ParameterSpace.LOCAL: self.scene.local,
            ParameterSpace.ENV: self.scene.env,
        }
        if register.space is ParameterSpace.CONSTANT:
            return [F(value) for value in register.value]
        if register.space is ParameterSpace.STATE:
            return [F(value) for value in self.scene.state[register.binding]]
        values = spaces[register.space].get(register.index, (0.0, 0.0, 0.0, 0.0))
        return [F(value) for value in values]

    def destination(self, dst: Dst) -> Vector:
        if isinstance(dst.register, Temporary):
            return self.temporaries.setdefault(dst.register.name, [ZERO] * 4)
        return self.results.setdefault(dst.register, [ZERO] * 4)

    def color(self, target: int) -> Vector:
        """The colour for a target: its own under ARB_draw_buffers, else the only one."""
        number = target if "ARB_draw_buffers" in self.program.options else 0
        color = self.results.get(ResultRegister(ResultKind.COLOR, number), [ZERO] * 4)
        return color if self.program.fog is None else self.fogged(color, self.program.fog)

    def fogged(self, color: Vector, mode: Fog) -> Vector:
        """GL 1.5, section 3.10: f·C + (1 - f)·C_fog, in r, g and b."""
        c = float(self.register(Src(Attribute(AttributeKind.FOGCOORD)))[0])
        density, start, end, _ = self.scene.state["state.fog.params"]
        factors: dict[Fog, Callable[[], float]] = {
            Fog.EXP: lambda: math.exp(-density * c),
            Fog.EXP2: lambda: math.exp(-((density * c) ** 2)),
            Fog.LINEAR: lambda: (end - c) / (end - start),
        }
        f = min(max(factors[mode](), 0.0), 1.0)
        fog = self.scene.state["state.fog.color"]
        color = [saturated(part) for part in color]  # "the program's final clamped color"
        return [F(f * float(color[i]) + (1 - f) * fog[i]) for i in range(3)] + [color[3]]


# Lookups -----------------------------------------------------------------------------------------

Tap = tuple[int | None, np.float32]
"""The place of a texel along an axis, None for the border, and its weight."""

# GL 1.5, table 3.19, in the order of the faces: the coordinates that become s and t.
FACES = {
    "+x": ("-z", "-y"), "-x": ("+z", "-y"), "+y": ("+x", "+z"),
    "-y": ("+x", "-z"), "+z": ("+x", "-y"), "-z": ("-x", "-y"),
}  # fmt: skip


def look_up(image: Image, coordinates: Vector) -> Vector:
    """The texel of a texture of any kind at these coordinates, filtered if the sampler says so."""
    rows, width, _ = image.texels.shape
    height, sampler = rows // image.depth, image.sampler
    s, t, r = coordinates
    along = axis_of(image.kind, sampler)
    only: list[Tap] = [(0, ONE)]
    if image.kind is TextureKind.CUBE:
        face, s, t = onto_face(s, t, r)
        return blended(image, along(s, width, 0), along(t, height, 1), [(face, ONE)])
    if image.kind is TextureKind.T1D:
        return blended(image, along(s, width, 0), only, only)
    if image.kind is TextureKind.T3D:
        depth = along(r, image.depth, 2)
        return blended(image, along(s, width, 0), along(t, height, 1), depth)
    return blended(image, along(s, width, 0), along(t, height, 1), only)


def axis_of(kind: TextureKind, sampler: Sampler) -> Callable[[np.float32, int, int], list[Tap]]:
    wraps = (sampler.wrap_s, sampler.wrap_t, sampler.wrap_r)

    def along(coordinate: np.float32, size: int, axis: int) -> list[Tap]:
        wrap = Wrap.CLAMP_TO_EDGE if kind is TextureKind.CUBE else wraps[axis]
        scale = F(1 if kind is TextureKind.RECT else size)
        return taps(coordinate, size, scale, wrap, sampler.filter)

    return along


def taps(
    coordinate: np.float32, size: int, scale: np.float32, wrap: Wrap, how: Filter
) -> list[Tap]:
    """The taps of 3.8.7 and 3.8.8 along one axis. scale: 2ⁿ; 1 for unnormalised coordinates."""
    if wrap is Wrap.REPEAT:
        coordinate = F(coordinate - floor(coordinate))
    if wrap is Wrap.MIRRORED_REPEAT:  # of two copies, the second is mirrored
        coordinate = F(coordinate - F(2 * floor(F(coordinate * HALF))))
        coordinate = F(2 - coordinate) if coordinate > 1 else coordinate
    u = F(coordinate * scale)
    if math.isnan(u):
        u = HALF
    edge = (Wrap.CLAMP_TO_EDGE, Wrap.MIRRORED_REPEAT)
    margin = HALF if wrap in edge else F(-HALF) if wrap is Wrap.CLAMP_TO_BORDER else ZERO
    if wrap is not Wrap.REPEAT:
        u = min(max(u, margin), F(F(size) - margin))
    if how is Filter.NEAREST:
        index = math.floor(u)
        if wrap is Wrap.CLAMP_TO_BORDER:
            return [(index if 0 <= index < size else None, ONE)]
        return [(min(index, size - 1), ONE)]
    low = math.floor(F(u - HALF))
    alpha = F(F(u - HALF) - F(low))
    actual: list[Tap] = []
    for index, weight in ((low, F(ONE - alpha)), (low + 1, alpha)):
        if wrap is Wrap.REPEAT:
            actual.append((index % size, weight))
        elif wrap in (Wrap.CLAMP, Wrap.CLAMP_TO_BORDER):
            actual.append((index if 0 <= index < size else None, weight))
        else:
            actual.append((min(max(index, 0), size - 1), weight))
    return actual


def blended(image: Image, across: list[Tap], up: list[Tap], layers: list[Tap]) -> Vector:
    """The weighted texels of equations (3.24) and (3.25); a single tap is the texel itself."""
    height = image.texels.shape[0] // image.depth
    channels = image.texels.shape[2]
    border = image.sampler.border
    if len(across) == 1:
        [(i, _)], [(j, _)], [(k, _)] = across, up, layers
        stored = border if None in (i, j, k) else image.texels[k * height + j, i]
        return [F(stored[c]) if c < channels else F((0, 0, 0, 1)[c]) for c in range(4)]
    actual = [F(value) for value in (0, 0, 0, 1)]
    for c in range(channels):
        terms = []
        for k, k_weight in layers:
            for j, j_weight in up:
                for i, i_weight in across:
                    inside = i is not None and j is not None and k is not None
                    texel = F(image.texels[k * height + j, i, c]) if inside else F(border[c])
                    terms.append(F(F(F(i_weight * j_weight) * k_weight) * texel))
        total = terms[0]
        for term in terms[1:]:
            total = F(total + term)
        actual[c] = total
    return actual


def onto_face(x: np.float32, y: np.float32, z: np.float32) -> tuple[int, np.float32, np.float32]:
    """The face of a cube, and the coordinates on it; of equal magnitudes z wins over y over x."""
    direction = {"x": x, "y": y, "z": z}
    axis = "x"
    for letter in "yz":
        others = [abs(direction[o]) for o in "xyz" if o < letter]
        if all(abs(direction[letter]) >= other for other in others):
            axis = letter
    name = ("-" if direction[axis] < 0 else "+") + axis
    major = F(abs(direction[axis]))

    def place(source: str) -> np.float32:
        along = direction[source[1]] * F(-1 if source[0] == "-" else 1)
        return F(F(F(along / major) + ONE) * HALF)

    s, t = FACES[name]
    return list(FACES).index(name), place(s), place(t)
