"""The reference machine: fragment programs in NumPy, an instruction for all fragments at once.

A register is four planes, one for each component. A plane broadcasts to (H, W): its shape is (1, 1)
for a value that is equal in all fragments and (H, 1) for one that varies only from row to row. So a
coordinate that varies along x alone costs one row of arithmetic, and a lookup that does not vary
along x happens once per row. Fragments of a pass are independent, so a pass runs in bands of rows
that fit the processor's cache. What the specification leaves undefined, such as a temporary before
its first write, is 0. result.depth is computed and dropped, since a plan has no depth buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpgpu_legacy.interp.fog import Planes, fogged, saturated
from gpgpu_legacy.interp.numeric import Mask, Storage
from gpgpu_legacy.interp.sampler import sample
from gpgpu_legacy.isa.arithmetic import F32, FP32, Arithmetic
from gpgpu_legacy.isa.fog import FOG_COLOR, FOG_COORDINATE, FOG_PARAMS
from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    Dst,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Selector,
    Src,
    Temporary,
    Vec4,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.plan.formats import Numeric
from gpgpu_legacy.plan.interpolation import Plane, triangle_planes
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, Blend, Corners, FragmentPass, state_values
from gpgpu_legacy.plan.textures import Rect, Sampler, constant_rect

BAND_FRAGMENTS = 1 << 16  # float32 planes of 256 KiB: a few of them fit a level-2 cache

_NOTHING = (0.0, 0.0, 0.0, 0.0)


def run_fragment_pass(
    pass_: FragmentPass, textures: Mapping[str, Storage], arithmetic: Arithmetic = FP32
) -> None:
    """Execute one pass of an expanded plan.

    textures: the contents of the plan's textures by name, updated in place. In fp32 every operation
    is rounded, so a multiply-add is rounded twice; in another arithmetic every instruction is
    rounded once. NaN and infinities propagate.
    """
    rect = constant_rect(pass_.rect)
    rows = max(1, BAND_FRAGMENTS // rect.width)
    with np.errstate(all="ignore"):
        for start in range(0, rect.height, rows):
            height = min(rows, rect.height - start)
            _run_band(pass_, textures, arithmetic, start, height)


def _run_band(
    pass_: FragmentPass,
    textures: Mapping[str, Storage],
    arithmetic: Arithmetic,
    start: int,
    height: int,
) -> None:
    rect = constant_rect(pass_.rect)
    bound = {b.unit: Bound(textures[b.texture], b.sampler) for b in pass_.bindings}
    inputs = inputs_of(pass_, start, height)
    machine = Machine(inputs, bound, arithmetic)
    machine.run(pass_.program)
    alive = machine.alive
    if alive is not None:
        alive = np.broadcast_to(alive, (height, rect.width))
    where = (
        slice(rect.y + start, rect.y + start + height),
        slice(rect.x, rect.x + rect.width),
    )
    separate = pass_.program.has_separate_colors
    for number, name in enumerate(pass_.targets):
        target = textures[name]
        color = machine.color(number if separate else 0)
        color = _with_fog(pass_, inputs, color, target, arithmetic)
        write = target.write if pass_.blend is Blend.NONE else target.blend_add
        for channel in range(len(target.planes)):
            write(channel, where, np.broadcast_to(color[channel], (height, rect.width)), alive)


def _with_fog(
    pass_: FragmentPass, inputs: Inputs, color: Planes, target: Storage, arithmetic: Arithmetic
) -> Planes:
    mode = pass_.program.fog
    if mode is None:
        return color
    coordinate = inputs.attributes[FOG_COORDINATE][0]
    state = inputs.state[FOG_COLOR], inputs.state[FOG_PARAMS]
    fixed_point = target.texture.format.numeric is Numeric.UNORM
    return fogged(mode, color, coordinate, state, arithmetic, clamped=fixed_point)


# What a pass gives ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bound:
    """A texture bound to a texture image unit, and its sampler."""

    storage: Storage
    sampler: Sampler


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a program reads besides textures.

    attributes: the attributes that the program reads, interpolated, as four planes each. local,
    env: parameters by index. state: the state vectors that the program reads, by canonical name.
    """

    attributes: Mapping[Attribute, Planes]
    local: Mapping[int, Vec4]
    env: Mapping[int, Vec4]
    state: Mapping[str, Vec4]


def inputs_of(pass_: FragmentPass, start: int, height: int) -> Inputs:
    """What the program of a pass reads in `height` rows of its rectangle, from row `start` on."""
    rect = constant_rect(pass_.rect)
    x = (np.arange(rect.width, dtype=np.float32) + np.float32(0.5))[None, :]
    y = (np.arange(start, start + height, dtype=np.float32) + np.float32(0.5))[:, None]
    given = {Attribute(AttributeKind.TEXCOORD, t.set): t.corners for t in pass_.texcoords}
    given |= {Attribute(a.kind): a.corners for a in pass_.attributes}
    read, bindings = pass_.program.attributes_read, pass_.program.state_bindings
    if pass_.program.fog is not None:
        read, bindings = (*read, FOG_COORDINATE), (*bindings, FOG_COLOR, FOG_PARAMS)
    attributes = {attribute: _attribute(attribute, given, rect, x, y) for attribute in read}
    state = state_values(pass_)
    local = {p.index: constant_vector(p.value) for p in pass_.locals}
    env = {p.index: constant_vector(p.value) for p in pass_.env}
    return Inputs(attributes, local, env, {b: state_vector(b, state) for b in bindings})


def _attribute(
    attribute: Attribute, given: Mapping[Attribute, Corners], rect: Rect, x: F32, y: F32
) -> Planes:
    """An attribute at the fragment centres (x, y), relative to the rectangle."""
    if attribute.kind is AttributeKind.POSITION:
        return _position(rect, x, y)
    default = _constant(ATTRIBUTE_DEFAULTS[attribute.kind])
    if attribute not in given:
        return default
    planes = _over_triangles(given[attribute], rect, x, y)
    return planes if attribute.kind is not AttributeKind.FOGCOORD else planes[:1] + default[1:]


def _over_triangles(corners: Corners, rect: Rect, x: F32, y: F32) -> Planes:
    """An attribute, in each fragment by the plane of the triangle that its centre is in."""
    first, second = triangle_planes(corners, rect)
    planes = interpolate(first, x, y)
    if first == second:
        return planes
    right = np.float64(rect.width) * y <= np.float64(rect.height) * x
    return [np.where(right, a, b) for a, b in zip(planes, interpolate(second, x, y), strict=True)]


def interpolate(coefficients: Plane, x: F32, y: F32) -> Planes:
    """An attribute at fragment centres: base + dx·x + dy·y in float32, in that order.

    x: (1, W) and y: (H, 1), relative to the rectangle. Returns four planes that broadcast to
    (H, W); a component that does not vary along an axis has length 1 there. This order of
    operations is the definition, and the GLSL emitters keep it.
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
    """fragment.position: window coordinates, depth 0.5 (rectangles are drawn at z = 0), 1/w = 1."""
    depth, one = np.full((1, 1), 0.5, np.float32), np.ones((1, 1), np.float32)
    return [x + np.float32(rect.x), y + np.float32(rect.y), depth, one]


# The program ---------------------------------------------------------------------------------


class Machine:
    """Executes a program on a band of fragments.

    `_fetch` applies swizzles and signs to all operands, `_store` rounding, saturation and write
    masks to all results. An instruction fetches all its sources before it writes.
    """

    def __init__(
        self, inputs: Inputs, textures: Mapping[int, Bound], arithmetic: Arithmetic = FP32
    ) -> None:
        """inputs: what programs read. textures: those bound, by texture image unit."""
        self._inputs = inputs
        self._textures = textures
        self._arithmetic = arithmetic
        self._rounded: dict[tuple[Attribute, int], F32] = {}
        self._temporaries: dict[str, Planes] = {}
        self._results: dict[ResultRegister, Planes] = {}
        self.alive: Mask | None = None
        """The fragments that no KIL has discarded, broadcastable to (H, W); None: all of them."""

    def run(self, program: Program) -> None:
        """Execute the program. Temporaries and results that it does not write are 0."""
        self._temporaries = {name: _constant(_NOTHING) for name in program.temporaries}
        for instruction in program.instructions:
            self._execute(instruction)

    def color(self, index: int) -> Planes:
        """The value of result.color[index]: four planes that broadcast to (H, W), float32."""
        return self._result(ResultRegister(ResultKind.COLOR, index))

    def _execute(self, instruction: Instruction) -> None:
        row = OPCODES[instruction.mnemonic]
        if row.form is Form.KILL:
            self._discard(row.evaluate(*self._vectors(instruction)))
            return
        assert instruction.dst is not None
        self._store(instruction, self._evaluate(row, instruction, instruction.dst.components))

    def _discard(self, condition: Mask) -> None:
        if condition.any():
            self.alive = ~condition if self.alive is None else self.alive & ~condition

    def _evaluate(
        self, row: Opcode, instruction: Instruction, components: tuple[int, ...]
    ) -> dict[int, F32]:
        """The result's components that the write mask lets through, by index."""
        match row.form:
            case Form.COMPONENTWISE:
                return {
                    c: row.evaluate(*(self._operand(src, c) for src in instruction.srcs))
                    for c in components
                }
            case Form.SCALAR:
                scalar = row.evaluate(*(self._operand(src, 0) for src in instruction.srcs))
                return dict.fromkeys(components, scalar)
            case Form.SAMPLE:
                vector = self._sample(row, instruction)
            case _:
                vector = row.evaluate(*self._vectors(instruction))
        return {c: vector[c] for c in components}

    def _sample(self, row: Opcode, instruction: Instruction) -> Planes:
        """A lookup; the texture unit computes its coordinates in float32."""
        assert instruction.texture is not None
        (src,) = instruction.srcs
        s, t, r, _ = row.evaluate([self._fetch(src, c, as_interpolated=True) for c in range(4)])
        bound = self._textures[instruction.texture.unit]
        return sample(bound.storage, bound.sampler, s, t, r)

    def _vectors(self, instruction: Instruction) -> list[list[Any]]:
        return [[self._operand(src, c) for c in range(4)] for src in instruction.srcs]

    def _operand(self, src: Src, component: int) -> Any:
        """A component in the type that an instruction computes in."""
        return self._arithmetic.wide(self._fetch(src, component))

    def _fetch(self, src: Src, component: int, *, as_interpolated: bool = False) -> F32:
        """A component of a source operand, with its swizzle and its sign applied."""
        selector = src.swizzle[component]
        if selector is Selector.ZERO or selector is Selector.ONE:
            value: F32 = np.full((1, 1), float(selector is Selector.ONE), np.float32)
        elif isinstance(src.register, Temporary):
            value = self._temporaries[src.register.name][selector.value]
        elif isinstance(src.register, Parameter):
            number = self._parameter(src.register)[selector.value]
            value = self._arithmetic.round(np.full((1, 1), number, np.float32))
        elif as_interpolated:
            value = self._inputs.attributes[src.register][selector.value]
        else:
            value = self._attribute(src.register, selector.value)
        return -value if src.negate[component] else value

    def _attribute(self, attribute: Attribute, component: int) -> F32:
        """A component of an attribute, rounded to the machine's arithmetic once per band."""
        key = (attribute, component)
        if key not in self._rounded:
            self._rounded[key] = self._arithmetic.round(
                self._inputs.attributes[attribute][component]
            )
        return self._rounded[key]

    def _parameter(self, parameter: Parameter) -> Vec4:
        match parameter.space:
            case ParameterSpace.CONSTANT:
                return parameter.value
            case ParameterSpace.STATE:
                return self._inputs.state[parameter.binding]
            case ParameterSpace.LOCAL:
                return self._inputs.local.get(parameter.index, _NOTHING)
            case ParameterSpace.ENV:
                return self._inputs.env.get(parameter.index, _NOTHING)

    def _store(self, instruction: Instruction, result: Mapping[int, F32]) -> None:
        assert instruction.dst is not None
        planes = self._destination(instruction.dst)
        for component, value in result.items():
            rounded = self._arithmetic.round(np.atleast_2d(value))
            planes[component] = saturated(rounded) if instruction.saturate else rounded

    def _destination(self, dst: Dst) -> Planes:
        if isinstance(dst.register, ResultRegister):
            return self._result(dst.register)
        return self._temporaries[dst.register.name]

    def _result(self, register: ResultRegister) -> Planes:
        return self._results.setdefault(register, _constant(_NOTHING))


def _constant(vector: Vec4) -> Planes:
    return [np.full((1, 1), value, np.float32) for value in vector]
