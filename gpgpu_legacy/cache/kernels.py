"""Dispatches as traces: the loads and stores of kernels, work group by work group.

Work groups come one after another, x first. The invocations of a work group, numbered x first, take
each access in turn, in the order of the program; masked ones make none. Buffers are regions in the
plan's order, from `lay_out`. The shared arrays of each kernel are regions after them: one copy,
which the work groups use one after another. Shared memory is in RAM, as on the Mali-T604: its loads
and stores are ordinary accesses.

The addresses come from the reference machine without data (interp/kernel.py), for many work
groups at once, or from native code (lower/emit/llvm_kernel.py) for kernels of one invocation a work
group.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from gpgpu_legacy.cache.access import (
    I64,
    NO_ACCESS,
    AccessTrace,
    Chunk,
    PassTrace,
    Step,
    lay_out,
)
from gpgpu_legacy.count.traffic import count_compute_pass
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.kernel import AddressMachine, WorkGroups
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.isa.kernel import Kernel, outside
from gpgpu_legacy.lower.kernels.bounds import unproven
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import ComputePass, Plan, Repeat, constant_groups

CHUNK_ACCESSES = 1 << 19  # about the most of a chunk
BATCH_INVOCATIONS = 1 << 22  # the most that the reference machine executes at a time
LARGEST_RECORD = 1 << 24  # the most lines recorded for a batch: 128 MiB


def trace_kernels(plan: Plan, *, line_bytes: int = 64) -> AccessTrace:
    """All accesses of a plan's dispatches to its buffers and shared arrays.

    line_bytes: the granule of the trace's lines.
    Raises PlanError for a plan with passes other than dispatches, for a kernel whose control flow
    or addresses depend on data, and for an access outside an array; InputError as `lay_out` does.
    """
    dispatches = [*plan.only(ComputePass)]
    if len(dispatches) < len(plan.as_written):
        raise PlanError(f"{plan.name} draws; trace_kernels is for plans of dispatches")
    tracer = _KernelTracer(plan, [pass_.kernel for pass_ in dispatches], line_bytes)
    steps = tuple(tracer.step(step) for step in plan.repeats() if step.count and step.body)
    return AccessTrace(plan.name, tracer.regions, steps, line_bytes)


class ArrayPlace(NamedTuple):
    """Where an array of a kernel lies.

    base: its first byte. kind: of a load; that of a store is one more.
    """

    base: int
    element_bytes: int
    kind: int
    elements: int


class _KernelTracer:
    """Traces dispatches; counts each distinct one once.

    regions: those of the plan, then the shared arrays of each kernel.
    """

    def __init__(self, plan: Plan, kernels: list[Kernel], line_bytes: int) -> None:
        self.plan, self.shift = plan, line_bytes.bit_length() - 1
        self.accesses: dict[ComputePass, int] = {}
        self.numbers = {texture.name: number for number, texture in enumerate(plan.textures)}
        arrays = [(t.name, t.size_bytes, t.format.texel_bytes) for t in plan.textures]
        self.shared: dict[tuple[Kernel, str], int] = {}
        for kernel in dict.fromkeys(kernels):
            for array in kernel.shared:
                taken = {name for name, _, _ in arrays}
                numbered = (f"{array.name} {i}" for i in range(2, len(taken) + 3))
                name = next(name for name in (array.name, *numbered) if name not in taken)
                self.shared[kernel, array.name] = len(arrays)
                size = array.element.size_bytes
                arrays.append((name, prod(array.extents) * size, size))
        self.regions = lay_out(arrays, line_bytes)

    def places(self, pass_: ComputePass) -> dict[str, ArrayPlace]:
        """The arrays of a pass's kernel, by name, in the kernel's order."""
        bound = {b.binding: self.numbers[b.texture] for b in pass_.buffers}
        numbers = {b.name: bound[b.binding] for b in pass_.kernel.buffers}
        numbers |= {a.name: self.shared[pass_.kernel, a.name] for a in pass_.kernel.shared}
        places = {}
        for name, number in numbers.items():
            region = self.regions[number]
            elements = region.size_bytes // region.element_bytes
            places[name] = ArrayPlace(region.base, region.element_bytes, 2 * number, elements)
        return places

    def step(self, repeat: Repeat) -> Step:
        dispatches = [pass_ for pass_ in repeat.body if isinstance(pass_, ComputePass)]

        def passes(iteration: int) -> tuple[PassTrace, ...]:
            return tuple(self.trace(at_iteration(pass_, iteration)) for pass_ in dispatches)

        def shifts(iteration: int) -> dict[int, int] | None:
            alike = all(
                at_iteration(pass_, iteration) == at_iteration(pass_, 0) for pass_ in dispatches
            )
            places = (place for pass_ in dispatches for place in self.places(pass_).values())
            return {place.kind // 2: 0 for place in places} if alike else None

        return Step(repeat.count, passes, shifts)

    def trace(self, pass_: ComputePass) -> PassTrace:
        if pass_ not in self.accesses:
            self.accesses[pass_] = count_compute_pass(self.plan, pass_).accesses
        chunks = self.single if pass_.kernel.threads == 1 else self.lockstep
        return PassTrace(self.accesses[pass_], partial(chunks, pass_))

    def single(self, pass_: ComputePass) -> Iterator[Chunk]:
        """The chunks of a kernel of one invocation a work group."""
        from gpgpu_legacy.lower.emit.llvm_kernel import TraceEmitter
        from gpgpu_legacy.lower.machine_code import compile_kernel, words_of

        kernel, places = pass_.kernel, self.places(pass_)
        lengths = _lengths(pass_, places)
        lines, kinds = np.empty((1, CHUNK_ACCESSES), np.int64), np.empty(CHUNK_ACCESSES, np.int16)
        across, up = constant_groups(pass_.groups)
        code = compile_kernel(kernel, unproven(pass_, lengths), TraceEmitter)
        header = across, lines.ctypes.data, kinds.ctypes.data, CHUNK_ACCESSES, self.shift
        words = words_of(kernel, header, places.values(), pass_.uniform_values)
        state = code.state()
        while True:
            count = code(words, 0, across * up, state)
            if count < 0:
                raise outside(kernel, lengths, -count, int(state[0]))
            if count:
                yield Chunk(lines[:, :count].copy(), kinds[:count].copy(), np.ones(1, np.int32))
            if not state[0]:
                return

    def lockstep(self, pass_: ComputePass) -> Iterator[Chunk]:
        """The chunks of a kernel whose work groups have several invocations.

        The work groups come in order, in batches whose accesses fit LARGEST_RECORD.
        """
        kernel, places = pass_.kernel, self.places(pass_)
        across, up = constant_groups(pass_.groups)
        width = across
        rows = max(1, BATCH_INVOCATIONS // max(1, across * kernel.threads))
        x = y = 0
        while y < up and across:
            count = min(width, across - x), min(rows, up - y)
            grid = WorkGroups((x, y), count)
            recorder = _AddressRecorder(pass_, grid, places, self.shift)
            try:
                recorder.run()
            except _TooLargeError:
                if count == (1, 1):
                    raise PlanError(
                        f"{kernel.name}: a work group makes more than {LARGEST_RECORD} accesses, "
                        "the most that fit; choose a smaller product"
                    ) from None
                width, rows = (width, -(-count[1] // 2)) if count[1] > 1 else (-(-count[0] // 2), 1)
                continue
            yield from recorder.chunks(grid, kernel.local_size)
            x += count[0]
            if x >= across:
                x, y = 0, y + count[1]


def _lengths(pass_: ComputePass, places: dict[str, ArrayPlace]) -> dict[str, int]:
    """Elements of the kernel's buffers, by their names in the kernel."""
    return {b.name: places[b.name].elements for b in pass_.kernel.buffers}


# Many work groups at once --------------------------------------------------------------------


class _TooLargeError(Exception):
    """Raised for a batch with more accesses than LARGEST_RECORD."""


class _AddressRecorder(AddressMachine):
    """Records the accesses of a batch of work groups, in as few lines as possible.

    A line that is the same for a row of work groups or of invocations is kept once.
    """

    def __init__(
        self, pass_: ComputePass, grid: WorkGroups, places: dict[str, ArrayPlace], shift: int
    ) -> None:
        super().__init__(pass_, grid, _lengths(pass_, places))
        self.places, self.shift = places, shift
        self.lines: list[I64] = []  # each broadcasts to (groups y, groups x, local y, local x)
        self.kinds: list[int] = []
        self.size = 0

    def access(self, element: Element, *, store: bool) -> None:
        index = self.flat_index(element)
        self.check(element, index)
        place = self.places[element.array.name]
        lines = (place.base + index * place.element_bytes) >> self.shift
        if self.mask is not None:
            lines = np.where(self.mask, lines, NO_ACCESS)
        self.size += lines.size
        if self.size > LARGEST_RECORD:
            raise _TooLargeError
        self.lines.append(lines)
        self.kinds.append(place.kind + store)

    def chunks(self, grid: WorkGroups, local_size: tuple[int, int]) -> Iterator[Chunk]:
        """Chunks with a row for each work group; a row that is too long is split among chunks."""
        if not self.lines:
            return
        threads, accesses = prod(local_size), len(self.lines)
        across, up = grid.count
        by_group = [np.broadcast_to(lines, (up, across, *local_size[::-1])) for lines in self.lines]
        kinds = np.array(self.kinds, np.int16)
        together = max(1, CHUNK_ACCESSES // (accesses * threads))
        at_once = max(1, CHUNK_ACCESSES // threads)
        for group in range(0, across * up, together):
            y, x = np.divmod(np.arange(group, min(group + together, across * up)), across)
            for start in range(0, accesses, at_once):
                taken = slice(start, start + at_once)
                lines = np.stack([of_access[y, x] for of_access in by_group[taken]], axis=1)
                slots = np.repeat(kinds[taken], threads)
                yield Chunk(lines.reshape(len(x), -1), slots, np.ones(len(x), np.int32))
