"""The reference machine: fragment programs in NumPy, an instruction for all fragments at once.

A register is four planes, one for each component. A plane broadcasts to (H, W): its shape is (1, 1)
for a value that is equal in all fragments and (H, 1) for one that varies only from row to row. So a
coordinate that varies along x alone costs one row of arithmetic, and a lookup that does not vary
along x happens once per row. Fragments of a pass are independent, so a pass runs in bands of rows
that fit the processor's cache. What the specification leaves undefined, such as a temporary before
its first write, is 0. result.depth is computed and dropped, since a plan has no depth buffer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import Mask, Storage, sample
from gpgpu_legacy.isa.arithmetic import F32, FP32, Arithmetic
from gpgpu_legacy.isa.execute import (
    BLOCK,
    MOST_TRIPS,
    Components,
    Domain,
    Event,
    Tally,
    Walk,
    execute,
    execute_instruction,
    fetch,
    holds,
)
from gpgpu_legacy.isa.fog import FOG_COLOR, FOG_COORDINATE, FOG_PARAMS, fog_factor, fog_mixed
from gpgpu_legacy.isa.opcodes import Form, Opcode, saturated
from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    Branch,
    DestinationRegister,
    Instruction,
    Parameter,
    ParameterSpace,
    Register,
    Repetition,
    ResultKind,
    ResultRegister,
    Temporary,
    Vec4,
)
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.plan.framebuffer import AlphaTest
from gpgpu_legacy.plan.interpolation import (
    AttributePlane,
    is_above,
    is_planar,
    triangle_planes,
    window_position,
)
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, Corners, FragmentPass, state_values
from gpgpu_legacy.plan.textures import Format, Numeric, Rect, Sampler, constant_rect

Planes = list[F32]

# The reference machine ----------------------------------------------------------------------------

BAND_FRAGMENTS = 1 << 16  # float32 planes of 256 KiB: a few of them fit a level-2 cache

MOST_EXECUTED = 65536
"""The instructions that it promises of a fragment (MAX_PROGRAM_EXEC_INSTRUCTIONS_NV)."""

_NOTHING = (0.0, 0.0, 0.0, 0.0)


def run_fragment_pass(
    pass_: FragmentPass,
    textures: Mapping[str, Storage],
    arithmetic: Arithmetic = FP32,
    tally: Tally | None = None,
) -> None:
    """Execute one pass of an expanded plan.

    textures: the contents of the plan's textures by name, updated in place. In fp32 every operation
    is rounded, so a multiply-add is rounded twice; in another arithmetic every instruction is
    rounded once. NaN and infinities propagate. tally: to which the pass is added.
    """
    rect = constant_rect(pass_.rect)
    rows = max(1, BAND_FRAGMENTS // rect.width)
    if pass_.program.branches:
        rows = max(BLOCK, rows // BLOCK * BLOCK)
    with np.errstate(all="ignore"):
        for start in range(0, rect.height, rows):
            band = range(start, min(start + rows, rect.height))
            _run_band(pass_, textures, arithmetic, band, Counter() if tally is None else tally)


def _run_band(
    pass_: FragmentPass,
    textures: Mapping[str, Storage],
    arithmetic: Arithmetic,
    rows: range,
    tally: Tally,
) -> None:
    rect, start, height = constant_rect(pass_.rect), rows.start, len(rows)
    bound = {b.unit: (textures[b.texture], b.sampler) for b in pass_.bindings}
    area = band_of(pass_, start, height)
    below, left = start - area.start, -area.left
    inside = slice(below, below + height), slice(left, left + rect.width)
    where = (
        slice(rect.y + start, rect.y + start + height),
        slice(rect.x, rect.x + rect.width),
    )
    separate = pass_.program.has_separate_colors
    for side in area.sides:
        inputs = inputs_of(pass_, area, side)
        machine = FragmentMachine(inputs, bound, arithmetic)
        machine.origin = area.left, area.start
        machine.shape = area.shape if pass_.program.branches else None
        execute(pass_.program, machine)
        machine.test_alpha(pass_.alpha_test, textures[pass_.target].texture.format)
        alive = machine.alive
        if side is not None:
            own = area.is_above(rect) == side
            alive = own if alive is None else alive & own
        if alive is not None:
            alive = np.broadcast_to(alive, area.shape)[inside]
        if pass_.scissor is not None:
            alive = _inside(pass_, start, height) & (True if alive is None else alive)
        for number, mask in machine.undefined.items():
            there = np.broadcast_to(mask, area.shape)[inside]
            there = there & (True if alive is None else alive)
            tally[pass_.program, number, Event.UNDEFINED] += int(there.sum())
        for (number, event), count in machine.events.items():
            tally[pass_.program, number, event] += count
        for number, name in enumerate(pass_.targets):
            target = textures[name]
            color = machine.register(ResultRegister(ResultKind.COLOR, number if separate else 0))
            color = _with_fog(pass_, inputs, color, target, arithmetic)
            planes = [np.broadcast_to(plane, area.shape)[inside] for plane in color]
            target.draw(where, planes, pass_.writes, alive)


def _inside(pass_: FragmentPass, start: int, height: int) -> Mask:
    """The fragments of a band that are inside the scissor."""
    rect, drawn = constant_rect(pass_.rect), pass_.drawn
    inside = np.zeros((height, rect.width), bool)
    first, left = drawn.y - rect.y - start, drawn.x - rect.x
    inside[max(first, 0) : max(first + drawn.height, 0), left : left + drawn.width] = True
    return inside


@frozen
class Band:
    """Rows of fragments that run together, from a first row and column of the pass's rectangle on.

    With levels of detail or derivatives they are whole quads, of which some fragments may be
    outside. Those run as the others do, with the attributes of the plane beyond its edges, and
    write nothing. sides: the triangles, 0 and 1, that run in turn, each on all fragments; None if
    all run at once.
    """

    start: int
    left: int
    shape: tuple[int, int]
    sides: tuple[int | None, ...] = (None,)

    @property
    def centres(self) -> tuple[F32, F32]:
        """The fragments' centres along x and y, relative to the rectangle."""
        x, y = (
            np.arange(first, first + size, dtype=np.float32) + np.float32(0.5)
            for first, size in zip((self.left, self.start), reversed(self.shape), strict=True)
        )
        return x[None, :], y[:, None]

    def is_above(self, rect: Rect) -> Mask:
        """Whether the second triangle of a rectangle contains the fragments' centres."""
        above: Mask = is_above(np.float64(rect.width), np.float64(rect.height), *self.centres)
        return above


def band_of(pass_: FragmentPass, start: int, height: int) -> Band:
    """The band of some rows of a pass."""
    rect = constant_rect(pass_.rect)
    if not pass_.in_quads:
        return Band(start, 0, (height, rect.width))
    below, left = (rect.y + start) % 2, rect.x % 2
    shape = (height + below + 1) // 2 * 2, (rect.width + left + 1) // 2 * 2
    is_flat = all(map(is_planar, pass_.corners.values()))
    return Band(start - below, -left, shape, (None,) if is_flat else (0, 1))


def _with_fog(
    pass_: FragmentPass,
    inputs: FragmentInputs,
    color: Planes,
    target: Storage,
    arithmetic: Arithmetic,
) -> Planes:
    """f·color + (1 - f)·(fog colour) in r, g and b, with f clamped to [0, 1]; alpha is unchanged.

    A fixed-point target clamps the fog's colour to [0, 1]; the fragment's is always clamped,
    because fog is applied to "the program's final clamped color" (3.11.4.5.1).
    """
    mode, wide = pass_.program.fog, arithmetic.wide
    if mode is None:
        return color
    fog, params = (_constant(inputs.state[name]) for name in (FOG_COLOR, FOG_PARAMS))
    color = [saturated(v) for v in color]
    if target.texture.format.numeric is Numeric.UNORM:
        fog = [saturated(v) for v in fog]
    coordinate = wide(inputs.attributes[FOG_COORDINATE][0])
    factor = wide(saturated(arithmetic.round(fog_factor(mode, coordinate, [*map(wide, params)]))))
    mixed = [
        arithmetic.round(fog_mixed(factor, wide(c), wide(v)))
        for c, v in zip(color[:3], fog[:3], strict=True)
    ]
    return [*mixed, color[3]]


# Inputs of a program -------------------------------------------------------------------------


BoundStorage = tuple[Storage, Sampler]
"""A texture bound to a texture image unit, and its sampler."""


@frozen
class FragmentInputs:
    """The inputs of a program besides textures.

    attributes: the attributes that the program reads, interpolated, as four planes each. local,
    env: parameters by index. state: the state vectors that the program reads, by canonical name.
    """

    attributes: Mapping[Attribute, Planes]
    local: Mapping[int, Vec4]
    env: Mapping[int, Vec4]
    state: Mapping[str, Vec4]


def inputs_of(pass_: FragmentPass, band: Band, side: int | None = None) -> FragmentInputs:
    """The inputs of a pass's program in a band. side: the triangle that interpolates attributes; by
    default the one that contains the fragment's centre.
    """
    rect = constant_rect(pass_.rect)
    given = pass_.corners
    read, bindings = pass_.program.attributes_read, pass_.program.state_bindings
    if pass_.program.fog is not None:
        read, bindings = (*read, FOG_COORDINATE), (*bindings, FOG_COLOR, FOG_PARAMS)
    attributes = {each: _attribute(each, given, rect, band, side) for each in read}
    state = state_values(pass_)
    local = {p.index: constant_vector(p.value) for p in pass_.locals}
    env = {p.index: constant_vector(p.value) for p in pass_.env}
    return FragmentInputs(attributes, local, env, {b: state_vector(b, state) for b in bindings})


def _attribute(
    attribute: Attribute,
    given: Mapping[Attribute, Corners],
    rect: Rect,
    band: Band,
    side: int | None,
) -> Planes:
    """An attribute at the fragment centres."""
    if attribute.kind is AttributeKind.POSITION:
        x, y, *rest = window_position(*band.centres, (np.float32(rect.x), np.float32(rect.y)))
        return [x, y, *(np.full((1, 1), value) for value in rest)]
    default = _constant(ATTRIBUTE_DEFAULTS[attribute.kind])
    if attribute not in given:
        return default
    planes = _over_triangles(given[attribute], rect, band, side)
    return planes if attribute.kind is not AttributeKind.FOGCOORD else planes[:1] + default[1:]


def _over_triangles(corners: Corners, rect: Rect, band: Band, side: int | None) -> Planes:
    """An attribute: each fragment uses the plane of one triangle."""
    x, y = band.centres
    first, second = triangle_planes(corners, rect)
    planes = interpolate(second if side else first, x, y)
    if side is not None or first == second:
        return planes
    above = band.is_above(rect)
    return [np.where(above, b, a) for a, b in zip(planes, interpolate(second, x, y), strict=True)]


def interpolate(coefficients: AttributePlane, x: F32, y: F32) -> Planes:
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


# The program ---------------------------------------------------------------------------------


class FragmentMachine(Domain[F32]):
    """The planes that a program is executed on, for a band of fragments.

    In another arithmetic than fp32, instructions compute in float64 and their results are rounded.
    """

    def __init__(
        self,
        inputs: FragmentInputs,
        textures: Mapping[int, BoundStorage],
        arithmetic: Arithmetic = FP32,
    ) -> None:
        """inputs: what programs read. textures: the bound ones, by texture image unit."""
        self._inputs = inputs
        self._textures = textures
        self._arithmetic, self._is_rounded = arithmetic, arithmetic.rounds
        self._attributes: dict[tuple[Attribute, int], F32] = {}
        self._temporaries: defaultdict[str, Planes] = defaultdict(_zeros)
        self._results: defaultdict[ResultRegister, Planes] = defaultdict(_zeros)
        self.alive: Mask | None = None
        """The fragments that no KIL has discarded, broadcastable to (H, W); None for all."""
        self.undefined: dict[int, Mask] = {}
        """By number of an instruction of `undefined_for_some`, the fragments where it is."""
        self.active: Mask | None = None
        """The fragments on the side of a branch, or in the loop, that is executed; None for all."""
        self._staying: Mask | None = None
        """Those that have not left the innermost loop."""
        self._executed: Any = 0
        """The instructions executed, for each fragment."""
        self._number = 0
        self.origin = 0, 0
        """The column and the row of the first fragment in the pass's rectangle."""
        self.shape: tuple[int, int] | None = None
        """Of the band, if events are to be counted."""
        self._counted: tuple[Mask | None, dict[Event, int]] | None = None
        """The last active fragments that were counted."""
        self.events = Counter[tuple[int, Event]]()

    def register(self, register: DestinationRegister) -> Planes:
        """A register's content: four planes that broadcast to (H, W); 0 before the first write."""
        if isinstance(register, Temporary):
            return self._temporaries[register.name]
        return self._results[register]

    def constant(self, number: float) -> F32:
        return np.full((1, 1), number, np.float32)

    def step(self, number: int, instruction: Instruction) -> None:
        self.reach(number, instruction)
        execute_instruction(instruction, self)

    def reach(self, number: int, _: Instruction) -> None:
        """Note that the active fragments execute an instruction."""
        self._number = number
        if self.active is not None:
            self._executed = self._executed + self.active
        if self.shape is not None:
            if self._counted is None or self._counted[0] is not self.active:
                self._counted = self.active, self._count_active(self.shape)
            for event, count in self._counted[1].items():
                self.events[number, event] += count

    def _count_active(self, shape: tuple[int, int]) -> dict[Event, int]:
        """The active fragments, and those of squares with any."""
        active = np.broadcast_to(True if self.active is None else self.active, shape)
        counts = {Event.EXECUTED: int(active.sum())}
        for side, event in ((2, Event.IN_QUADS), (BLOCK, Event.IN_BLOCKS)):
            rows, columns = (np.minimum(side, n - np.arange(0, n, side)) for n in shape)
            counts[event] = int(rows @ _any_of_squares(active, side) @ columns)
        return counts

    def _decided(self, holding: Mask) -> None:
        """Count a test's outcomes."""
        if self.shape is None:
            return
        number, active = self._number, True if self.active is None else self.active
        yes, no = (np.broadcast_to(m & active, self.shape) for m in (holding, ~holding))
        self.events[number, Event.TAKEN] += int(yes.sum())
        for side, whole, divergent in (
            (2, Event.QUADS, Event.DIVERGENT_QUADS),
            (BLOCK, Event.BLOCKS, Event.DIVERGENT_BLOCKS),
        ):
            some, others = (_any_of_squares(m, side) for m in (yes, no))
            self.events[number, whole] += int((some | others).sum())
            self.events[number, divergent] += int((some & others).sum())

    def read(self, register: Register, components: Components, *, coordinate: bool) -> F32:
        (component,) = components
        if isinstance(register, Temporary):
            return self._temporaries[register.name][component]
        if isinstance(register, Parameter):
            return self._arithmetic.round(self.constant(self._parameter(register)[component]))
        if isinstance(register, ResultRegister):
            return self._results[register][component]
        if coordinate:
            return self._inputs.attributes[register][component]
        return self._attribute(register, component)

    def store(self, register: DestinationRegister, components: Components, value: F32) -> None:
        (component,) = components
        planes = self.register(register)
        if self.active is not None:
            value = np.where(self.active, value, planes[component])
        planes[component] = value

    def look_up(
        self, instruction: Instruction, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, F32]:
        assert instruction.texture is not None
        texel = sample(*self._textures[instruction.texture.unit], *coordinates)
        return {(c,): texel[c] for c in components}

    def test_alpha(self, test: AlphaTest | None, target: Format) -> None:
        """Discard the fragments whose alpha fails the test, if there is one."""
        if test is not None:
            alpha = self.register(ResultRegister(ResultKind.COLOR, 0))[3]
            self.discard(~test.passes(alpha, target))

    def discard(self, condition: Mask) -> None:
        if self.active is not None:
            condition = condition & self.active
        if condition.any():
            self.alive = ~condition if self.alive is None else self.alive & ~condition

    def in_quad(self, fetched: Callable[[], F32]) -> Sequence[F32]:
        plane = fetched()
        return [_at_corner(_at_corner(plane, 0, y), 1, x) for y, x in ((0, 0), (0, 1), (1, 0))]

    def branch(self, branch: Branch, then: Walk, otherwise: Walk) -> None:
        assert branch.head[1].test is not None
        self.reach(*branch.head)
        outer, holding = self.active, holds(branch.head[1].test, self)
        self._decided(holding)
        for mask, side in ((holding, then), (~holding, otherwise)):
            self.active = mask if outer is None else mask & outer
            if self._staying is not None:
                self.active = self.active & self._staying
            if self.active.any():
                side()
        self.active = outer
        if outer is not None and self._staying is not None:
            self.active = outer & self._staying

    def loop(self, loop: Repetition, body: Walk) -> None:
        self.reach(*loop.head)
        outer = self.active, self._staying
        trips = fetch(loop.head[1].srcs[0], (0,), self).item()
        self._staying = np.ones((1, 1), bool) if self.active is None else self.active
        for _ in range(int(min(trips, MOST_TRIPS)) if trips >= 1 else 0):
            self.active = self._staying
            if not self.active.any():
                break
            body()
            self._check_executed(loop.head[1])
        self.active, self._staying = outer

    def leave(self, condition: Mask) -> None:
        assert self.active is not None
        assert self._staying is not None
        self._decided(condition)
        self._staying = self._staying & ~(self.active & condition)
        self.active = self.active & self._staying

    def _check_executed(self, loop: Instruction) -> None:
        beyond = np.argwhere(self._executed > MOST_EXECUTED)
        if beyond.size:
            y, x = beyond[0].tolist()
            place = x + self.origin[0], y + self.origin[1]
            raise InputError(
                f"line {loop.span.line}: in this {loop.mnemonic} fragment {place} executes more "
                f"than {MOST_EXECUTED} instructions, the most that NV_fragment_program2 promises; "
                "leave it by a BRK, or make fewer trips"
            )

    def saturated(self, value: F32) -> F32:
        limited: F32 = saturated(value)
        return limited

    def rounded(self, value: Any) -> F32:
        return self._arithmetic.round(value if value.ndim == 2 else np.atleast_2d(value))

    def evaluate(self, row: Opcode, sources: Sequence[Any]) -> Any:
        """A texture unit computes its coordinates in float32 in every arithmetic."""
        if row.undefined is not None:
            mask = row.undefined.holds(*sources)
            if self.active is not None:
                mask = mask & self.active
            if mask.any():
                self.undefined[self._number] = self.undefined.get(self._number, False) | mask
        if not self._is_rounded or row.form is Form.SAMPLE:
            return row.evaluate(*sources)
        wide = self._arithmetic.wide
        return row.evaluate(
            *([wide(v) for v in s] if isinstance(s, list) else wide(s) for s in sources)
        )

    def _attribute(self, attribute: Attribute, component: int) -> F32:
        """A component of an attribute, rounded to the machine's arithmetic once per band."""
        key = (attribute, component)
        if key not in self._attributes:
            self._attributes[key] = self._arithmetic.round(
                self._inputs.attributes[attribute][component]
            )
        return self._attributes[key]

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


def _any_of_squares(mask: Mask, side: int) -> Mask:
    for axis in range(2):
        mask = np.logical_or.reduceat(mask, range(0, mask.shape[axis], side), axis)
    return mask


def _at_corner(plane: F32, axis: int, place: int) -> F32:
    """For both fragments of each pair along an axis, the value of the first or the second."""
    if plane.shape[axis] == 1:
        return plane
    return plane.take(np.arange(plane.shape[axis]) // 2 * 2 + place, axis)


def _zeros() -> Planes:
    return _constant(_NOTHING)


def _constant(vector: Vec4) -> Planes:
    return [np.full((1, 1), value, np.float32) for value in vector]
