"""The accesses of a plan that draws: each pass's lookups and writes, fragment by fragment.

Fragments come one after another in raster order; a fragment's lookups come in program order, then
its write. A linear lookup is an access to each texel that it filters, two or four, s fastest;
texels of the border are none. With quads the four fragments of a quad make each access in turn, in
the order (0, 0), (1, 0), (0, 1), (1, 1); those outside the rectangle make none. A blended write is
a read, then a write. Several targets are written in turn. A fragment that KIL may discard counts as
if it lived. With several fragments (or quads) in flight all of a batch make their first access,
then their second, and so on; a pass begins when the one before it is done. A copy runs no program:
it reads, then writes each texel, one by one in row order, whatever the raster order and the number
in flight. Clears, uploads and initial values make no accesses.

texel_accesses.py finds the texels that each fragment accesses without executing anything, and makes
a table for each axis of the rectangle, so that every address of a pass is a sum of two entries.
Where that cannot be told without data, recorded.py takes them from a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import add

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import (
    DEFAULT_ACCESS,
    Access,
    AccessTrace,
    Chunk,
    PassTrace,
    Positions,
    Step,
)
from gpgpu_legacy.cache.recorded import RecordedPass, Recording, Replay
from gpgpu_legacy.cache.texel_accesses import (
    OUTSIDE,
    QUAD,
    AddressSpace,
    Axis,
    DependentError,
    Tables,
    add_offsets,
    address_space,
    make_axis,
    texel_accesses,
    walk,
)
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import (
    ClearPass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    moves,
    varies,
)
from gpgpu_legacy.plan.textures import constant_rect

I64 = NDArray[np.int64]


def trace_fragments(
    plan: Plan,
    access: Access = DEFAULT_ACCESS,
    *,
    line_bytes: int = 64,
    replay: Replay | None = None,
) -> AccessTrace:
    """The trace of a validated plan of fragment passes, copies and clears.

    replay: runs the plan, if lookups depend on data.

    Its regions are all textures of the plan in their order; buffers are always linear. A row of a
    chunk is a fragment, a quad, or a texel of a copy. Chunks have at most MOST_LINES lines, or one
    batch if that is more, and own their arrays: a chunk may be used after the next one is made. A
    Repeat is a step with the same number of iterations. A pass whose rectangle or lookups are not
    affine in the iteration is analysed for each iteration.

    Raises DependentError for a lookup whose texel is not known without executing the program, if
    nothing runs it; InputError for dispatches, and if `line_bytes` is not a power of two or is
    smaller than a texel.
    """
    space = address_space(plan, access.layout, line_bytes)
    recording = None if replay is None else Recording(plan, replay, space, access)

    def traced(number: int, step: Repeat) -> Iterator[tuple[_DrawnPass | RecordedPass, ...]]:
        for place, pass_ in enumerate(step.body if step.count else ()):
            if isinstance(pass_, ClearPass):
                continue
            try:
                yield _repeated(plan, pass_, step.count, space, access)
            except DependentError:
                if recording is None:
                    raise
                recording.wanted.add((number, place))
                yield (RecordedPass(recording, number, place),)

    steps = []
    for number, step in enumerate(plan.repeats()):
        if passes := tuple(traced(number, step)):
            steps.append(_step(step.count, passes))
    of_inputs = recording is not None and bool(recording.wanted)
    return AccessTrace(plan.name, space.regions, tuple(steps), line_bytes, of_inputs)


# Passes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnPass:
    """A pass of a step, in all of its iterations.

    axes: of a fragment's slots. kinds: of the slots of a row, a fragment's or a quad's. access: no
    more in flight than there are.
    """

    size: tuple[int, int]
    axes: tuple[Axis, Axis]
    kinds: NDArray[np.int16]
    access: Access
    space: AddressSpace
    draws: bool

    def trace(self, iteration: int) -> PassTrace:
        """One iteration of the pass."""
        accesses = self.size[0] * self.size[1] * len(self.axes[0].sizes)
        drawn = self.size if self.draws else None
        return PassTrace(accesses, lambda: self.chunks(iteration), drawn)

    def moves(self, iteration: int) -> Iterable[tuple[int, int]] | None:
        """Each slot's region, and the shift of its addresses in bytes; None if there is none."""
        regions = (self.kinds[:: len(QUAD)] if self.access.quads else self.kinds) // 2
        across, up = (axis.moves(self.space.table, self.size, iteration) for axis in self.axes)
        if across is None or up is None:
            return None
        return zip(regions.tolist(), map(add, across, up), strict=True)

    def chunks(self, iteration: int) -> Iterator[Chunk]:
        """The accesses of an iteration."""
        slots, shift = len(self.kinds), self.space.line_bytes.bit_length() - 1
        access, tables = self.access, self.tables(iteration)
        most = access.rows_of_chunk(slots)
        for xs, ys in access.raster.positions(
            *self.size, quads=access.quads, together=access.in_flight
        ):
            for first in range(0, len(xs), most):
                part = slice(first, first + most)
                places, of_places = tables((xs[part], ys[part]))
                room = len(places[0])
                lines, times = np.empty((room, slots), np.int64), np.empty(room, np.int32)
                rows = walk(places, of_places, lines, times, shift)
                yield Chunk(lines[:rows], self.kinds, times[:rows], access.in_flight, access.lanes)

    def tables(self, iteration: int) -> Callable[[Positions], tuple[Positions, Tables]]:
        """A function that gives tables for some positions, and the positions in these tables.

        If a slot's column or row depends on both x and y, one table instead holds every address of
        these positions.
        """
        axes = tuple(axis.in_quads() if self.access.quads else axis for axis in self.axes)
        if any(((axis.forms[1] != 0) & (axis.forms[2] != 0)).any() for axis in axes):
            return lambda positions: self._one_by_one(axes, positions, iteration)
        share = 2 if self.access.quads else 1
        xs, ys = (np.arange(-(-side // share), dtype=np.int64) for side in self.size)
        tables = self._separate(axes, xs, ys, iteration)
        return lambda positions: (positions, tables)

    def _separate(self, axes: tuple[Axis, ...], xs: I64, ys: I64, iteration: int) -> Tables:
        """Tables for these columns and these rows."""
        across, up, table = self._outside(xs, 0), self._outside(ys, 1), self.space.table
        for axis in axes:
            upwards = axis.forms[2] != 0
            add_offsets(axis, across, ~upwards, table, (xs, np.zeros_like(xs)), iteration)
            add_offsets(axis, up, upwards, table, (np.zeros_like(ys), ys), iteration)
        return np.ascontiguousarray(across.T), np.ascontiguousarray(up.T)

    def _one_by_one(
        self, axes: tuple[Axis, ...], positions: Positions, iteration: int
    ) -> tuple[Positions, Tables]:
        x, y = (side.astype(np.int64) for side in positions)
        addresses = self._outside(x, 0) + self._outside(y, 1)
        for axis in axes:
            every = np.ones(len(self.kinds), np.bool_)
            add_offsets(axis, addresses, every, self.space.table, (x, y), iteration)
        numbers = np.arange(len(x), dtype=np.int32)
        tables = np.ascontiguousarray(addresses.T), np.zeros((1, len(self.kinds)), np.int64)
        return (numbers, np.zeros_like(numbers)), tables

    def _outside(self, places: I64, axis: int) -> I64:
        """int64 [slots, places]: OUTSIDE where a quad's fragment lies outside the rectangle."""
        if not self.access.quads:
            return np.zeros((len(self.kinds), len(places)), np.int64)
        step = np.tile(np.array(QUAD, np.int64)[:, axis], len(self.kinds) // len(QUAD))
        return np.where(2 * places + step[:, None] >= self.size[axis], OUTSIDE, 0)


def _repeated(
    plan: Plan, pass_: Pass, count: int, space: AddressSpace, access: Access
) -> tuple[_DrawnPass, ...]:
    """A pass in all of its iterations, or one for each; equal iterations share one object."""
    if not moves(pass_):
        try:
            return (_pass(plan, pass_, count, space, access),)
        except DependentError:  # not affine over all iterations, but perhaps in each of them
            if not varies(pass_):
                raise
    known: dict[object, _DrawnPass] = {}
    at = []
    for iteration in range(count):
        now = at_iteration(pass_, iteration)
        key = _access_key(now)
        if key not in known:
            known[key] = _pass(plan, now, 1, space, access)
        at.append(known[key])
    return tuple(at)


def _access_key(pass_: Pass) -> object:
    """Everything that may vary in a pass and changes its accesses."""
    if isinstance(pass_, FragmentPass):
        return pass_.rect, pass_.scissor, pass_.texcoords, pass_.locals, pass_.env
    return pass_


def _pass(plan: Plan, pass_: Pass, count: int, space: AddressSpace, access: Access) -> _DrawnPass:
    touches = texel_accesses(plan, pass_, count)
    is_copy = isinstance(pass_, CopyPass)
    numbers = [space.numbers[touch.texture.name] for touch in touches]
    slots = [*zip(numbers, touches, strict=True)]
    kinds = [2 * n + touch.writes for n, touch in slots]
    axes = (
        make_axis([(touch.column, space.columns[n]) for n, touch in slots]),
        make_axis([(touch.row, space.rows[n]) for n, touch in slots]),
    )
    assert isinstance(pass_, CopyPass | FragmentPass)
    rect = constant_rect(pass_.target_rect) if isinstance(pass_, CopyPass) else pass_.drawn
    in_flight = max(1, min(access.in_flight, rect.area))
    access = DEFAULT_ACCESS if is_copy else replace(access, in_flight=in_flight)
    by_row = np.repeat(np.array(kinds, np.int16), access.lanes)
    require_memory(
        access.rows_of_chunk(len(by_row)) * (8 * len(by_row) + 4),
        f"the accesses of {access.in_flight} in flight in {plan.name}",
        "let fewer be in flight",
    )
    return _DrawnPass((rect.width, rect.height), axes, by_row, access, space, not is_copy)


def _step(count: int, passes: tuple[tuple[_DrawnPass | RecordedPass, ...], ...]) -> Step:
    """passes: of each pass one for all iterations, or one for each."""

    def at(iteration: int) -> list[_DrawnPass | RecordedPass]:
        return [pass_[min(iteration, len(pass_) - 1)] for pass_ in passes]

    def shifts(iteration: int) -> dict[int, int] | None:
        by_region: dict[int, int] = {}
        for first, pass_ in zip(at(0), at(iteration), strict=True):
            moved = pass_.moves(iteration) if pass_ is first else None
            if moved is None:
                return None
            for region, shift in moved:
                if by_region.setdefault(region, shift) != shift:
                    return None
        return by_region

    return Step(count, lambda i: tuple(pass_.trace(i) for pass_ in at(i)), shifts)
