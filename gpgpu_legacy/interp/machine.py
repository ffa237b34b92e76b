"""The reference machine: a fragment program run in NumPy, one operation on a plane at a time.

A register is four planes, one a component, each of a shape that broadcasts to (H, W): (1, 1) for
what is the same in every fragment, (H, 1) for what varies only from row to row. So a row of texture
coordinates costs a row of arithmetic, and a lookup of A's column is looked up once a row, not once
a fragment. The fragments of a pass do not see one another, so a pass runs in bands of rows that
stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpgpu_legacy.interp.numeric import F32, Storage
from gpgpu_legacy.interp.sampler import Planes, sample_rect
from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    Dst,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    ResultRegister,
    Selector,
    Src,
    Temporary,
    Vec4,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode
from gpgpu_legacy.plan.plan import Blend, FragmentPass, Plane, Rect, constant_vector, plane

BAND_FRAGMENTS = 1 << 16  # float32 planes of 256 KiB: a few of them fit a level-2 cache

_DEFAULT_ATTRIBUTE = (0.0, 0.0, 0.0, 1.0)


def run_fragment_pass(each: FragmentPass, textures: Mapping[str, Storage]) -> None:
    """Carry out one pass (with no Affine left in it) on the textures it names.

    Arithmetic is float32, a multiply-add rounded after the multiplication and after the addition.
    NaN and infinities are data.
    """
    rows = max(1, BAND_FRAGMENTS // each.rect.width)
    with np.errstate(all="ignore"):
        for start in range(0, each.rect.height, rows):
            height = min(rows, each.rect.height - start)
            _run_band(each, textures, start, height)


def _run_band(each: FragmentPass, textures: Mapping[str, Storage], start: int, height: int) -> None:
    rect = each.rect
    bound = {binding.unit: textures[binding.texture] for binding in each.bindings}
    machine = Machine(_inputs(each, start, height), bound)
    color = machine.run(each.program)
    target = textures[each.target]
    where = (
        slice(rect.y + start, rect.y + start + height),
        slice(rect.x, rect.x + rect.width),
    )
    write = target.write if each.blend is Blend.NONE else target.blend_add
    for channel in range(len(target.planes)):
        write(channel, where, np.broadcast_to(color[channel], (height, rect.width)))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a program reads besides textures: its attributes and its parameters."""

    attributes: Mapping[Attribute, Planes]
    local: Mapping[int, Vec4]
    env: Mapping[int, Vec4]


def _inputs(each: FragmentPass, start: int, height: int) -> Inputs:
    x = (np.arange(each.rect.width, dtype=np.float32) + np.float32(0.5))[None, :]
    y = (np.arange(start, start + height, dtype=np.float32) + np.float32(0.5))[:, None]
    attributes = {
        Attribute(AttributeKind.TEXCOORD, t.set): interpolate(plane(t.corners, each.rect), x, y)
        for t in each.texcoords
    }
    attributes[Attribute(AttributeKind.POSITION)] = _position(each.rect, x, y)
    local = {p.index: constant_vector(p.value) for p in each.locals}
    env = {p.index: constant_vector(p.value) for p in each.env}
    return Inputs(attributes, local, env)


def interpolate(coefficients: Plane, x: F32, y: F32) -> Planes:
    """A texture coordinate set at fragment centres: base + dx·x + dy·y in float32, in that order.

    This order, on the relative centres, is the definition; the GLSL printers compute the same.
    A component that does not vary along an axis is not computed along it.
    """
    planes: Planes = []
    for base, dx, dy in zip(coefficients.base, coefficients.dx, coefficients.dy, strict=True):
        value: F32 = np.full((1, 1), base, np.float32) + np.float32(0.0)  # a -0 becomes 0
        if dx != 0.0:
            value = value + np.float32(dx) * x
        if dy != 0.0:
            value = value + np.float32(dy) * y
        planes.append(value)
    return planes


def _position(rect: Rect, x: F32, y: F32) -> Planes:
    """fragment.position: the window coordinates, with z 0.5 (a rectangle at z 0) and 1/w 1."""
    depth, one = np.full((1, 1), 0.5, np.float32), np.ones((1, 1), np.float32)
    return [x + np.float32(rect.x), y + np.float32(rect.y), depth, one]


class Machine:
    """One program on one band of fragments.

    Every operand goes through `fetch` (swizzle, sign) and every result through `store`
    (saturation, write mask); all sources are fetched before anything is written.
    """

    def __init__(self, inputs: Inputs, textures: Mapping[int, Storage]) -> None:
        """inputs: attributes and parameters; textures: what is bound, by unit."""
        self._inputs = inputs
        self._textures = textures
        self._temporaries: dict[str, Planes] = {}
        self._color: Planes = _zeros()

    def run(self, program: Program) -> Planes:
        """Run the program; returns result.color, four planes that broadcast to the band."""
        self._temporaries = {name: _zeros() for name in program.temporaries}
        for instruction in program.instructions:
            self._execute(instruction)
        return self._color

    def _execute(self, instruction: Instruction) -> None:
        row = OPCODES[instruction.mnemonic]
        assert instruction.dst is not None
        components = instruction.dst.components
        self._store(instruction, self._evaluate(row, instruction, components))

    def _evaluate(
        self, row: Opcode, instruction: Instruction, components: tuple[int, ...]
    ) -> dict[int, F32]:
        """The components of the result that the write mask asks for."""
        if row.form is Form.COMPONENTWISE:
            return {
                c: row.evaluate(*(self._fetch(src, c) for src in instruction.srcs))
                for c in components
            }
        sources = [[self._fetch(src, c) for c in range(4)] for src in instruction.srcs]
        if row.form is Form.SAMPLE:
            assert instruction.texture is not None
            s, t, *_ = sources[0]
            vector = sample_rect(self._textures[instruction.texture.unit], s, t)
        else:
            vector = row.evaluate(*sources)
        return {c: vector[c] for c in components}

    def _fetch(self, src: Src, component: int) -> F32:
        """One component of a source operand, after its selector and its sign."""
        selector = src.swizzle[component]
        if selector is Selector.ZERO or selector is Selector.ONE:
            value: F32 = np.full((1, 1), float(selector is Selector.ONE), np.float32)
        else:
            value = self._read(src.register, selector.value)
        return -value if src.negate[component] else value

    def _read(self, register: Temporary | Attribute | Parameter, component: int) -> F32:
        if isinstance(register, Temporary):
            return self._temporaries[register.name][component]
        if isinstance(register, Attribute):
            planes = self._inputs.attributes.get(register)
            if planes is not None:
                return planes[component]
            return np.full((1, 1), _DEFAULT_ATTRIBUTE[component], np.float32)
        return np.full((1, 1), self._parameter(register)[component], np.float32)

    def _parameter(self, parameter: Parameter) -> Vec4:
        if parameter.space is ParameterSpace.CONSTANT:
            return parameter.value
        values = self._inputs.local if parameter.space is ParameterSpace.LOCAL else self._inputs.env
        return values.get(parameter.index, (0.0, 0.0, 0.0, 0.0))

    def _store(self, instruction: Instruction, result: Mapping[int, F32]) -> None:
        dst = instruction.dst
        assert dst is not None
        planes = self._destination(dst)
        for component, value in result.items():
            planes[component] = _saturated(value) if instruction.saturate else value

    def _destination(self, dst: Dst) -> Planes:
        if isinstance(dst.register, ResultRegister):
            return self._color
        return self._temporaries[dst.register.name]


def _saturated(value: F32) -> F32:
    """Clamped to [0, 1], as _SAT asks for; the spec leaves NaN open, and hardware makes it 0."""
    return np.fmin(np.fmax(value, np.float32(0.0)), np.float32(1.0))


def _zeros() -> Planes:
    return [np.zeros((1, 1), np.float32) for _ in range(4)]
