"""The reference machine: fragment programs in NumPy, each instruction for all fragments at once.

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
from functools import partial
from typing import Any

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import Mask, Storage, sample, slices
from gpgpu_legacy.isa.arithmetic import F32, FP32, Arithmetic
from gpgpu_legacy.isa.execute import (
    BLOCK,
    Components,
    Domain,
    Event,
    Tally,
    Walk,
    execute,
    execute_instruction,
    fetch,
    holds,
    trips_of,
)
from gpgpu_legacy.isa.fog import FOG_FACTORS, fog_mixed
from gpgpu_legacy.isa.opcodes import Form, Opcode, saturated
from gpgpu_legacy.isa.program import (
    FOG_COLOR,
    FOG_COORDINATE,
    FOG_PARAMS,
    Attribute,
    AttributeKind,
    Branch,
    DestinationRegister,
    Fog,
    Instruction,
    Parameter,
    ParameterSpace,
    Register,
    Repetition,
    ResultKind,
    ResultRegister,
    Temporary,
    TextureSource,
    Vec4,
)
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.plan.framebuffer import AlphaTest
from gpgpu_legacy.plan.interpolation import (
    is_above,
    is_planar,
    triangle_planes,
    window_position,
)
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, FragmentPass, state_values
from gpgpu_legacy.plan.textures import Format, Numeric, Rect, Sampler, constant_rect

Planes = list[F32]

# The reference machine ----------------------------------------------------------------------------

BAND_FRAGMENTS = 1 << 16  # float32 planes of 256 KiB: a few of them fit a level-2 cache

MOST_EXECUTED = 65536
"""The most instructions that a fragment may execute in a program with loops, as promised by
NV_fragment_program2 (MAX_PROGRAM_EXEC_INSTRUCTIONS_NV)."""

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
    rounded once. NaN and infinities propagate. tally: the counts that the pass's are added to.
    Raises InputError if a loop executes more than MOST_EXECUTED instructions for a fragment.
    """
    rect = constant_rect(pass_.rect)
    tally = Counter() if tally is None else tally
    rows = max(1, BAND_FRAGMENTS // rect.width)
    if pass_.program.branches:
        rows = max(BLOCK, rows // BLOCK * BLOCK)
    with np.errstate(all="ignore"):
        for start in range(0, rect.height, rows):
            height = min(rows, rect.height - start)
            band = Rect(rect.x, rect.y + start, rect.width, height)
            _run_band(pass_, textures, arithmetic, band, tally)


def _run_band(
    pass_: FragmentPass,
    textures: Mapping[str, Storage],
    arithmetic: Arithmetic,
    band: Rect,
    tally: Tally,
) -> None:
    rect, program = constant_rect(pass_.rect), pass_.program
    bound = {b.unit: (textures[b.texture], b.sampler) for b in pass_.bindings}
    area = band_of(pass_, band.y - rect.y, band.height)
    shown = pass_.drawn.part_in(band)
    x, y = shown.x - rect.x - area.left, shown.y - rect.y - area.start
    inside = slices(Rect(x, y, shown.width, shown.height))
    for side in area.sides:
        machine = FragmentMachine(*inputs_of(pass_, area, side), bound, arithmetic)
        machine.origin = area.left, area.start
        machine.shape = area.shape if program.branches else None
        execute(program, machine)
        machine.test_alpha(pass_.alpha_test, textures[pass_.target].texture.format)
        alive = machine.alive
        if side is not None:
            alive = alive & (area.is_above == side)
        if alive is not np.True_:
            alive = np.broadcast_to(alive, area.shape)[inside]
        for number, mask in machine.undefined.items():
            there = np.broadcast_to(mask, area.shape)[inside] & alive
            tally[program, number, Event.UNDEFINED] += int(there.sum())
        for (number, event), count in machine.events.items():
            tally[program, number, event] += count
        for number, name in enumerate(pass_.targets):
            target = textures[name]
            color = machine.color(program.color_number(number))
            if program.fog is not None:
                color = machine.behind_fog(program.fog, color, target.texture.format)
            planes = [np.broadcast_to(plane, area.shape)[inside] for plane in color]
            target.draw(slices(shown), planes, pass_.writes, alive)


@frozen
class Band:
    """Rows of fragments that run together, from a first row and column of a pass's rectangle on.

    For levels of detail or derivatives they are whole quads, and some fragments may be outside the
    rectangle. Those run as the others do, with attributes from the plane beyond its edges, and
    write nothing. shape: rows and columns. sides: the triangles, 0 and 1, that run in turn, each on
    all fragments; None if both run at once.
    """

    rect: Rect
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

    @property
    def is_above(self) -> Mask:
        """Whether the second triangle of the rectangle contains the fragments' centres."""
        size = np.float64(self.rect.width), np.float64(self.rect.height)
        above: Mask = is_above(*size, *self.centres)
        return above


def band_of(pass_: FragmentPass, start: int, height: int) -> Band:
    """The band of some rows of a pass."""
    rect = constant_rect(pass_.rect)
    if not pass_.in_quads:
        return Band(rect, start, 0, (height, rect.width))
    below, left = (rect.y + start) % 2, rect.x % 2
    shape = (height + below + 1) // 2 * 2, (rect.width + left + 1) // 2 * 2
    is_flat = all(map(is_planar, pass_.corners.values()))
    return Band(rect, start - below, -left, shape, (None,) if is_flat else (0, 1))


# Inputs of a program -------------------------------------------------------------------------

Attributes = dict[Attribute, Planes]
"""The attributes that a program reads, interpolated, as four planes each."""

Parameters = dict[str, Vec4]
"""The values of program.local, program.env and state, by the names that programs bind."""


def inputs_of(pass_: FragmentPass, band: Band, side: int | None) -> tuple[Attributes, Parameters]:
    """The inputs of a pass's program in a band.

    side: the triangle that interpolates attributes; None for the one that contains the fragment's
    centre.
    """
    state = state_values(pass_)
    parameters = {name: constant_vector(value) for name, value in pass_.parameters.items()}
    parameters |= {b: state_vector(b, state) for b in pass_.program.state_needed}
    read = pass_.program.attributes_needed
    return {a: _interpolated(pass_, a, band, side) for a in read}, parameters


def _interpolated(
    pass_: FragmentPass, attribute: Attribute, band: Band, side: int | None
) -> Planes:
    """An attribute at the fragments' centres, each in the plane of one triangle."""
    rect, (x, y) = band.rect, band.centres
    if attribute.kind is AttributeKind.POSITION:
        x, y, *rest = window_position(x, y, (np.float32(rect.x), np.float32(rect.y)))
        return [x, y, *(np.full((1, 1), value) for value in rest)]
    corners, default = pass_.corners.get(attribute), _constant(ATTRIBUTE_DEFAULTS[attribute.kind])
    if corners is None:
        return default
    triangles = triangle_planes(corners, rect)
    if side is not None:
        triangles = triangles[-1:] if side else triangles[:1]
    planes, *others = ([_plane(*part, x, y) for part in zip(*t, strict=True)] for t in triangles)
    for other in others:
        above = band.is_above
        planes = [np.where(above, b, a) for a, b in zip(planes, other, strict=True)]
    return planes if attribute.kind is not AttributeKind.FOGCOORD else planes[:1] + default[1:]


def _plane(base: float, dx: float, dy: float, x: F32, y: F32) -> F32:
    """A component at fragment centres: base + dx·x + dy·y in float32, in that order.

    x: (1, W) and y: (H, 1), relative to the rectangle. Returns a plane that broadcasts to (H, W);
    it has length 1 along an axis along which it does not vary. This order of operations is the
    definition, and the GLSL emitters keep it.
    """
    value: F32 = np.full((1, 1), base, np.float32) + np.float32(0.0)  # a -0 becomes 0
    if dx != 0.0:
        value = value + np.float32(dx) * x
    if dy != 0.0:
        value = value + np.float32(dy) * y
    return value


# The program ---------------------------------------------------------------------------------


class FragmentMachine(Domain[F32]):
    """The planes that a program is executed on, for a band of fragments.

    In another arithmetic than fp32, instructions compute in float64 and their results are rounded.
    """

    def __init__(
        self,
        attributes: Attributes,
        parameters: Parameters,
        textures: Mapping[int, tuple[Storage, Sampler]],
        arithmetic: Arithmetic = FP32,
    ) -> None:
        """attributes, parameters: see inputs_of. textures: with their samplers, by image unit."""
        self._inputs, self._parameters = attributes, parameters
        self._textures = textures
        self._arithmetic = arithmetic
        self._rounded = {a: [*map(arithmetic.round, planes)] for a, planes in attributes.items()}
        self.registers: defaultdict[DestinationRegister, Planes] = defaultdict(
            partial(_constant, _NOTHING)
        )
        """What registers hold: four planes that broadcast to (H, W); 0 before the first write."""
        self.alive: Any = np.True_
        """The fragments that no KIL has discarded, broadcastable to (H, W)."""
        self.undefined: dict[int, Mask] = {}
        """The fragments with an undefined result, by the instruction's number."""
        self.active: Any = np.True_
        """The fragments on the side of a branch, or in the loop, that is executed."""
        self._staying: Any = np.True_
        """The fragments that have not left the innermost loop."""
        self._executed: Any = 0
        """The instructions executed in branches and loops, for each fragment."""
        self._number = 0
        self.origin = 0, 0
        """The column and the row of the first fragment in the pass's rectangle."""
        self.shape: tuple[int, int] | None = None
        """The shape of the band, if events are to be counted."""
        self._counted: tuple[Any, dict[Event, int]] | None = None
        """The active fragments that were counted last, and their counts."""
        self.events = Counter[tuple[int, Event]]()

    def color(self, number: int) -> Planes:
        """result.color[number]."""
        return self.registers[ResultRegister(ResultKind.COLOR, number)]

    def constant(self, number: float) -> F32:
        return np.full((1, 1), number, np.float32)

    def step(self, number: int, instruction: Instruction) -> None:
        self.reach(number, instruction)
        execute_instruction(instruction, self)

    def reach(self, number: int, _: Instruction) -> None:
        """Note that the active fragments execute an instruction."""
        self._number = number
        if self.active is not np.True_:
            self._executed = self._executed + self.active
        if self.shape is not None:
            if self._counted is None or self._counted[0] is not self.active:
                self._counted = self.active, self._count_active(self.shape)
            for event, count in self._counted[1].items():
                self.events[number, event] += count

    def _count_active(self, shape: tuple[int, int]) -> dict[Event, int]:
        """The numbers of active fragments, and of fragments in squares that have any."""
        active = np.broadcast_to(self.active, shape)
        counts = {Event.EXECUTED: int(active.sum())}
        for side, event in ((2, Event.IN_QUADS), (BLOCK, Event.IN_BLOCKS)):
            rows, columns = (np.minimum(side, n - np.arange(0, n, side)) for n in shape)
            counts[event] = int(rows @ _any_of_squares(active, side) @ columns)
        return counts

    def _decided(self, holding: Mask) -> None:
        """Count a test's outcomes."""
        if self.shape is None:
            return
        number, active = self._number, self.active
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
        if isinstance(register, Temporary | ResultRegister):
            return self.registers[register][component]
        if isinstance(register, Parameter):
            vector = register.value
            if register.space is not ParameterSpace.CONSTANT:
                vector = self._parameters.get(register.text, _NOTHING)
            return self._arithmetic.round(self.constant(vector[component]))
        return (self._inputs if coordinate else self._rounded)[register][component]

    def store(self, register: DestinationRegister, components: Components, value: F32) -> None:
        (component,) = components
        planes = self.registers[register]
        if self.active is not np.True_:
            value = np.where(self.active, value, planes[component])
        planes[component] = value

    def look_up(
        self, source: TextureSource, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, F32]:
        texel = sample(*self._textures[source.unit], *coordinates)
        return {(c,): texel[c] for c in components}

    def test_alpha(self, test: AlphaTest | None, target: Format) -> None:
        """Discard the fragments whose alpha fails the test, if there is one."""
        if test is not None:
            self.discard(~test.passes(self.color(0)[3], target))

    def behind_fog(self, mode: Fog, color: Planes, target: Format) -> Planes:
        """f·color + (1 - f)·(fog colour) in r, g and b, with f clamped to [0, 1].

        A fixed-point target clamps the fog's colour to [0, 1]; the fragment's is always clamped,
        because fog is applied to "the program's final clamped color" (3.11.4.5.1).
        """
        round_, wide = self._arithmetic.round, self._arithmetic.wide
        fog, params = (_constant(self._parameters[name]) for name in (FOG_COLOR, FOG_PARAMS))
        color = [saturated(v) for v in color]
        if target.numeric is Numeric.UNORM:
            fog = [saturated(v) for v in fog]
        coordinate = wide(self._inputs[FOG_COORDINATE][0])
        factor = wide(saturated(round_(FOG_FACTORS[mode](coordinate, [*map(wide, params)]))))
        mixed = zip(color[:3], fog[:3], strict=True)
        return [*(round_(fog_mixed(factor, wide(c), wide(v))) for c, v in mixed), color[3]]

    def discard(self, condition: Mask) -> None:
        condition = condition & self.active
        if condition.any():
            self.alive = self.alive & ~condition

    def in_quad(self, fetched: Callable[[], F32]) -> Sequence[F32]:
        plane = fetched()
        return [_at_corner(_at_corner(plane, 0, y), 1, x) for y, x in ((0, 0), (0, 1), (1, 0))]

    def branch(self, branch: Branch, then: Walk, otherwise: Walk) -> None:
        assert branch.head[1].test is not None
        self.reach(*branch.head)
        outer, holding = self.active, holds(branch.head[1].test, self)
        self._decided(holding)
        for mask, side in ((holding, then), (~holding, otherwise)):
            self.active = mask & outer & self._staying
            if self.active.any():
                side()
        self.active = outer & self._staying

    def loop(self, loop: Repetition, body: Walk) -> None:
        self.reach(*loop.head)
        outer = self.active, self._staying
        count = fetch(loop.head[1].srcs[0], (0,), self).item()
        self._staying = self.active & np.ones((1, 1), bool)
        for _ in range(trips_of(count)):
            self.active = self._staying
            if not self.active.any():
                break
            body()
            self._check_executed(loop.head[1])
        self.active, self._staying = outer

    def leave(self, condition: Mask) -> None:
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
        return self._arithmetic.round(np.atleast_2d(value))

    def evaluate(self, row: Opcode, sources: Sequence[Any]) -> Any:
        """The result of an opcode. A texture unit computes in float32 in every arithmetic."""
        if row.undefined is not None:
            mask = row.undefined.holds(*sources) & self.active
            if mask.any():
                self.undefined[self._number] = self.undefined.get(self._number, False) | mask
        if not self._arithmetic.rounds or row.form is Form.SAMPLE:
            return row.evaluate(*sources)
        wide = self._arithmetic.wide
        return row.evaluate(
            *([wide(v) for v in s] if isinstance(s, list) else wide(s) for s in sources)
        )


def _any_of_squares(mask: Mask, side: int) -> Mask:
    for axis in range(2):
        mask = np.logical_or.reduceat(mask, range(0, mask.shape[axis], side), axis)
    return mask


def _at_corner(plane: F32, axis: int, place: int) -> F32:
    """For both fragments of each pair along an axis, the value of the first or the second."""
    if plane.shape[axis] == 1:
        return plane
    return plane.take(np.arange(plane.shape[axis]) // 2 * 2 + place, axis)


def _constant(vector: Vec4) -> Planes:
    return [np.full((1, 1), value, np.float32) for value in vector]
