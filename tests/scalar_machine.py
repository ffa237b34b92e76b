"""A second, deliberately naive interpreter: one fragment at a time, one np.float32 at a time.

It shares no code with the package but the program's data structure. Meanings are written from the
text of ARB_fragment_program (sections 3.11.4.1, 3.11.4.3, 3.11.5 and 3.11.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from strategies import Scene

from gpgpu_legacy.isa.ir import (
    AttributeKind,
    Dst,
    Instruction,
    ParameterSpace,
    Program,
    Src,
    Temporary,
)
from gpgpu_legacy.plan.plan import Rect, Texcoords

F = np.float32
Vector = list[np.float32]

COMPONENTWISE: dict[str, Callable[..., np.float32]] = {
    "MOV": lambda a: a,
    "ADD": lambda a, b: F(a + b),
    "MUL": lambda a, b: F(a * b),
    "MAD": lambda a, b, c: F(F(a * b) + c),
}
DOT_PRODUCTS = {"DP4": 4}  # how many components each takes
LOOKUPS = {"TEX"}


def known() -> set[str]:
    """The opcodes that this interpreter can carry out."""
    return set(COMPONENTWISE) | set(DOT_PRODUCTS) | LOOKUPS


def run(program: Program, scene: Scene) -> NDArray[np.float32]:
    """result.color of every fragment of the scene's rectangle, in a float texture of zeros.

    program: the scene's text, assembled. Returns (height, width, 4).
    """
    width, height = scene.size
    target = np.zeros((height, width, 4), np.float32)
    with np.errstate(all="ignore"):
        for y in range(scene.rect.height):
            for x in range(scene.rect.width):
                target[scene.rect.y + y, scene.rect.x + x] = _Fragment(scene, x, y).run(program)
    return target


class _Fragment:
    def __init__(self, scene: Scene, x: int, y: int) -> None:
        rect = scene.rect
        self.textures = scene.textures
        self.parameters = {ParameterSpace.LOCAL: scene.local, ParameterSpace.ENV: scene.env}
        self.texcoords = {t.set: self.interpolated(t, rect, x, y) for t in scene.texcoords}
        self.position = [F(rect.x + x + 0.5), F(rect.y + y + 0.5), F(0.5), F(1)]
        self.registers: dict[str, Vector] = {}
        self.color = [F(0)] * 4

    @staticmethod
    def interpolated(texcoords: Texcoords, rect: Rect, x: int, y: int) -> Vector:
        origin, right, _, top = texcoords.corners
        found = []
        for start, along, up in zip(origin, right, top, strict=True):
            dx, dy = F((along - start) / rect.width), F((up - start) / rect.height)
            value = F(F(start) + F(dx * F(x + 0.5)))
            found.append(F(value + F(dy * F(y + 0.5))))
        return found

    def run(self, program: Program) -> Vector:
        for instruction in program.instructions:
            self.execute(instruction)
        return self.color

    def execute(self, instruction: Instruction) -> None:
        sources = [self.load(src) for src in instruction.srcs]
        if instruction.mnemonic in LOOKUPS:
            assert instruction.texture is not None
            result = look_up(self.textures[instruction.texture.unit], *sources[0][:2])
        elif instruction.mnemonic in DOT_PRODUCTS:
            result = [dot_product(*sources, DOT_PRODUCTS[instruction.mnemonic])] * 4
        else:
            meaning = COMPONENTWISE[instruction.mnemonic]
            result = [meaning(*(source[c] for source in sources)) for c in range(4)]
        if instruction.saturate:
            result = [saturated(r) for r in result]
        assert instruction.dst is not None
        destination = self.destination(instruction.dst)
        for c in range(4):
            if instruction.dst.mask[c]:
                destination[c] = result[c]

    def load(self, src: Src) -> Vector:
        register = [*self.register(src), F(0), F(1)]  # SWZ's selectors 4 and 5
        picked = [register[selector.value] for selector in src.swizzle]
        return [F(-p) if negative else p for p, negative in zip(picked, src.negate, strict=True)]

    def register(self, src: Src) -> Vector:
        register = src.register
        if isinstance(register, Temporary):
            return self.registers[register.name]
        if hasattr(register, "kind"):
            if register.kind is AttributeKind.POSITION:
                return self.position
            assert register.kind is AttributeKind.TEXCOORD
            return self.texcoords.get(register.index, [F(0), F(0), F(0), F(1)])
        if register.space is ParameterSpace.CONSTANT:
            return [F(value) for value in register.value]
        values = self.parameters[register.space].get(register.index, (0.0, 0.0, 0.0, 0.0))
        return [F(value) for value in values]

    def destination(self, dst: Dst) -> Vector:
        if not isinstance(dst.register, Temporary):
            return self.color
        return self.registers.setdefault(dst.register.name, [F(0)] * 4)


def saturated(value: np.float32) -> np.float32:
    """3.11.4.3, and 0 for a NaN, as hardware has it."""
    if value < 0 or math.isnan(value):
        return F(0)
    return F(1) if value > 1 else value


def dot_product(a: Vector, b: Vector, components: int) -> np.float32:
    """From x on; 3.11.5 leaves the order open, and the package says that it is this one."""
    total = F(a[0] * b[0])
    for c in range(1, components):
        total = F(total + F(a[c] * b[c]))
    return total


def look_up(texels: NDArray[np.float32], s: np.float32, t: np.float32) -> Vector:
    """The nearest texel of a rectangle texture (height, width, channels), clamped to its edge."""
    height, width, channels = texels.shape
    row, column = _clamped(t, height), _clamped(s, width)
    return [F(texels[row, column, c]) if c < channels else F((0, 0, 0, 1)[c]) for c in range(4)]


def _clamped(coordinate: np.float32, size: int) -> int:
    value = float(coordinate)
    if math.isnan(value) or value < 0:
        return 0
    return size - 1 if value >= size else math.floor(value)
