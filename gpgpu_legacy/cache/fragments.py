"""The accesses of a plan that draws: each pass's lookups and writes, fragment by fragment.

Fragments come one after another in raster order; a fragment's lookups come in program order, then
its write. A linear lookup is an access to each texel that it filters, two or four, s fastest;
texels of the border make no access. With quads the four fragments of a quad make each access in
turn, in the order (0, 0), (1, 0), (0, 1), (1, 1); those outside the rectangle make none. A blended
write is a read, then a write. Several targets are written in turn. A fragment that KIL may discard
counts as if it lived. With several fragments (or quads) in flight, all of a batch make their first
access, then their second, and so on; a pass begins when the one before it is done. A copy runs no
program: it reads, then writes each texel, one by one in row order, whatever the raster order and
the number in flight. Clears, uploads and initial values make no accesses.

texel_accesses.py finds the texels that each fragment accesses without executing anything. Unless a
column or a row depends on both x and y, every address of a pass is the sum of an entry of a table
of columns and one of a table of rows. Where lookups depend on data, recorded.py takes the texels
from a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpgpu_legacy.cache.access import (
    DEFAULT_ACCESS,
    I32,
    I64,
    Access,
    AccessTrace,
    PassTrace,
    Step,
    Tables,
    one_by_one,
)
from gpgpu_legacy.cache.recorded import RecordedPass, Recording, Replay
from gpgpu_legacy.cache.texel_accesses import (
    AddressSpace,
    DependentError,
    TexelAccess,
    address_space,
    texel_accesses,
)
from gpgpu_legacy.decorators import frozen
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

    Raises DependentError, without replay, for a lookup whose texel is not known before the program
    runs; InputError for dispatches, and if `line_bytes` is not a power of two or is smaller than a
    texel.
    """
    space = address_space(plan, access, line_bytes)
    recording = None if replay is None else Recording(space, replay)

    def traced(number: int, step: Repeat) -> Iterator[tuple[_DrawnPass | RecordedPass, ...]]:
        for place, pass_ in enumerate(step.body if step.count else ()):
            if isinstance(pass_, ClearPass):
                continue
            try:
                yield _repeated(space, pass_, step.count)
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


@frozen
class _DrawnPass:
    """A pass of a step, in all of its iterations.

    size: of its rectangle. touches: the accesses of a fragment. access: with no more in flight than
    the rectangle has. draws: False for a copy.
    """

    size: tuple[int, int]
    touches: list[TexelAccess]
    access: Access
    line_bytes: int
    draws: bool

    def trace(self, iteration: int) -> PassTrace:
        """One iteration of the pass."""
        kinds = [touch.kind for touch in self.touches]
        return PassTrace(
            self.size[0] * self.size[1] * len(kinds),
            lambda: self.access.chunks(
                self.size, kinds, self.line_bytes, self.tables_of(iteration)
            ),
            self.size if self.draws else None,
        )

    def moves(self, iteration: int) -> list[tuple[int, int]] | None:
        """Each slot's region, and the shift of its addresses in bytes; None if not proven."""
        moves = []
        for touch in self.touches:
            across = touch.column.move(self.size, iteration)
            up = touch.row.move(self.size, iteration)
            if across is None or up is None:
                return None
            moves.append((touch.kind // 2, across + up))
        return moves

    def tables_of(self, iteration: int) -> Callable[[I32, I32], Tables]:
        """A function that gives the addresses of fragments by their x and y."""

        def addresses(x: Any, y: Any) -> I64:
            at = x, y, iteration
            touched = [t.column.bytes_at(*at) + t.row.bytes_at(*at) for t in self.touches]
            return np.stack(touched, axis=-1)

        if any(along.x and along.y for t in self.touches for along in (t.column, t.row)):
            return lambda x, y: one_by_one(addresses(x, y))
        columns = addresses(np.arange(self.size[0]), 0)
        rows = addresses(0, np.arange(self.size[1])) - addresses(0, 0)
        return lambda x, y: Tables(columns, rows, x, y)


def _repeated(space: AddressSpace, pass_: Pass, count: int) -> tuple[_DrawnPass, ...]:
    """A pass in all of its iterations, or one for each; equal iterations share one object."""
    if not moves(pass_):
        try:
            return (_pass(space, pass_, count),)
        except DependentError:  # not affine over all iterations, but perhaps in each of them
            if not varies(pass_):
                raise
    known: dict[object, _DrawnPass] = {}
    at = []
    for iteration in range(count):
        now = at_iteration(pass_, iteration)
        key = _access_key(now)
        if key not in known:
            known[key] = _pass(space, now, 1)
        at.append(known[key])
    return tuple(at)


def _access_key(pass_: Pass) -> object:
    """Everything that may vary in a pass and changes its accesses."""
    if isinstance(pass_, FragmentPass):
        return pass_.rect, pass_.scissor, pass_.texcoords, pass_.locals, pass_.env
    return pass_


def _pass(space: AddressSpace, pass_: Pass, count: int) -> _DrawnPass:
    touches = texel_accesses(space, pass_, count)
    is_copy = isinstance(pass_, CopyPass)
    assert isinstance(pass_, CopyPass | FragmentPass)
    rect = constant_rect(pass_.target_rect) if isinstance(pass_, CopyPass) else pass_.drawn
    access = DEFAULT_ACCESS if is_copy else space.access.of_area(rect.area)
    slots = len(touches) * access.lanes
    require_memory(
        access.rows_of_chunk(slots) * (8 * slots + 4),
        f"the accesses of {access.in_flight} in flight in {space.plan.name}",
        "let fewer be in flight",
    )
    return _DrawnPass((rect.width, rect.height), touches, access, space.line_bytes, not is_copy)


def _step(count: int, passes: tuple[tuple[_DrawnPass | RecordedPass, ...], ...]) -> Step:
    """A step of the trace.

    passes: for each pass, one object for all iterations or one for each.
    """

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
