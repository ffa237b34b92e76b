"""The skeleton of prepared plans on OpenGL: allocate and compile, upload, step, read back.

Preparing a plan records its passes: each becomes a function of the iteration, and a run calls one
after another. A Repeat is recorded once, whatever its count.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from time import perf_counter
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import Stored, decode, stored_dtype
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import Pass, Plan
from gpgpu_legacy.plan.textures import Rect, full_rect
from gpgpu_legacy.runtime.gl.sharing import Releasable, SharedContext
from gpgpu_legacy.runtime.gl.transfers import DeviceTransfers
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import (
    F32,
    Ended,
    Held,
    Observer,
    Prepared,
)
from gpgpu_legacy.runtime.transfers import HostOutput, cleared_first, host_input, new_results

PATIENCE_S = 10.0
"""The context is checked after a run that took longer. Drivers silently reset a device if they have
waited too long for it, NVIDIA's after 15 s.
"""

OVERHEAD_S = 5e-4
"""A run's calls and its wait add less than this to the device's time. Where the host is busy, they
may add more, but less than that time itself.
"""

_Object = TypeVar("_Object", bound=Releasable)
_Shared = TypeVar("_Shared", bound=SharedContext[Any])


Call = Callable[[int], object]
"""A pass recorded: a function of the iteration, from 0."""

Record = Callable[[Pass, int], Call]
"""Records a pass as the plan writes it, given how often it runs."""


@frozen
class RecordedSteps:
    """Recorded calls that run in order, `count` times over.

    passes: those of the plan, one a call; an observer is shown them. Empty if passes are fused.
    """

    count: int
    passes: tuple[Pass, ...]
    calls: tuple[Call, ...]


def record_steps(plan: Plan, record: Record) -> list[RecordedSteps]:
    """The steps of a part of a plan, recorded pass by pass."""
    groups: list[RecordedSteps] = []
    for step in plan.repeats():
        if step.body and step.count:
            calls = tuple(record(pass_, step.count) for pass_ in step.body)
            groups.append(RecordedSteps(step.count, step.body, calls))
    return list(joined(groups))


def joined(groups: Iterable[RecordedSteps]) -> Iterator[RecordedSteps]:
    """The same steps, with neighbours that run once joined into one."""
    for runs_once, neighbours in groupby(groups, key=lambda group: group.count == 1):
        if not runs_once:
            yield from neighbours
            continue
        row = list(neighbours)
        passes = tuple(pass_ for group in row for pass_ in group.passes)
        yield RecordedSteps(1, passes, tuple(call for group in row for call in group.calls))


class TexelStore(Protocol):
    """A plan's texels, as an executor keeps them. The context must be current for every method."""

    def write(self, name: str, rect: Rect, stored: Stored) -> None:
        """Set a rectangle to texels (height, width, channels), as its format stores them."""

    def read(self, name: str, rect: Rect, stored: Stored) -> None:
        """Fill a contiguous array of such texels from a rectangle."""


class GlPrepared(Prepared, Generic[_Shared]):
    """A plan prepared on an OpenGL context, with the objects that it owns there.

    A subclass allocates and compiles in `_build`, where it sets `_store` and calls
    `_make_transfers`, and defines the steps. All of that runs while the context is current. `close`
    releases the objects given to `keep`, last first; if it is never called, the next use of the
    context releases them.
    """

    _store: TexelStore

    def __init__(self, context: _Shared, plan: Plan, machine: Machine) -> None:
        """plan: validated, without Tables. If preparing fails, nothing stays allocated."""
        super().__init__(plan, machine)
        self.context = context
        self._recorded: dict[int, list[RecordedSteps]] = {}
        self._first: list[Call] = []
        self._device: DeviceTransfers | None = None
        self._new_results: Callable[[], dict[str, F32]] = dict
        self._owned: list[Releasable] = []
        self._timed = False  # whether the device's clock has timed the last run
        context.release_with(self, self._owned)
        with context.current():
            try:
                self._build()
            except BaseException:
                self._release()
                raise

    def keep(self, resource: _Object) -> _Object:
        """Own an object: closing the plan releases it."""
        self._owned.append(resource)
        return resource

    @property
    def held(self) -> Held:
        """See Prepared. Where a GPU renders, the textures are in its memory."""
        texture_bytes = self.plan.texture_bytes
        on_device = self.context.is_hardware
        return Held(device_bytes=texture_bytes) if on_device else Held(host_bytes=texture_bytes)

    def _require_fit(self) -> None:
        """See Prepared. Raises ExecutorUnavailableError in a process that was forked since."""
        self.context.require_own_process()

    def close(self) -> None:
        """See Prepared. In a process that was forked since, nothing is released."""
        if self.context.is_usable:
            super().close()

    def _session(self) -> AbstractContextManager[object]:
        return self.context.current()

    def _make_transfers(self, device: DeviceTransfers | None) -> None:
        """device: takes some of the plan's inputs and outputs; the host packs the others."""
        plan, self._device = self.plan, device
        inputs, outputs = (device.inputs, device.outputs) if device else ((), ())
        self._first = [self._clear(name, value) for name, value in cleared_first(plan).items()]
        self._inputs = [(i, None if i in inputs else host_input(plan, i)) for i in plan.inputs]
        self._host_outputs = [HostOutput(plan, o) for o in plan.outputs if o not in outputs]
        self._new_results = new_results(plan, {output.matrix for output in outputs})

    def _upload(self, operands: Mapping[str, F32], *, resume: bool) -> None:
        self._begin(observed=False)
        for clear in () if resume else self._first:
            clear(0)
        device = self._device
        if device:
            device.begin()
        for input_, host in self._inputs:
            values = operands.get(input_.matrix)
            if values is None:
                continue
            if host:
                self._store.write(input_.texture, input_.rect, host(values))
            elif device:
                device.send(input_, values)
        self.context.finish()

    def _read_back(self) -> dict[str, F32]:
        results = self._new_results()
        if self._device:
            self._device.fetch(results)
        for host in self._host_outputs:
            self._store.read(host.output.texture, host.output.rect, host.destination(results))
            host.put(results)
        return results

    def _texels(self, name: str) -> F32:
        texture = self.plan.texture(name)
        extent, channels = texture.extent, texture.format.channels
        stored = np.zeros((extent.rows, extent.width, channels), stored_dtype(texture.format))
        self._store.read(name, full_rect(texture), stored)
        return decode(stored, texture.format)

    def _compute(self, observer: Observer | None, times: int) -> list[Ended]:
        started = perf_counter()
        self._timed = observer is None and self.context.is_hardware
        self._begin(observed=observer is not None)
        with self.context.elapsing() if self._timed else nullcontext():
            ended = super()._compute(observer, times)
        self.context.finish()
        if perf_counter() - started > PATIENCE_S:
            self.context.require_answers()
        return ended

    def _compute_s(self, host_s: float) -> float:
        """See Prepared: by the device's clock, if both clocks agree but for OVERHEAD_S."""
        if not self._timed:
            return host_s
        device_s = self.context.elapsed_s()
        agree = device_s <= host_s < device_s + max(OVERHEAD_S, device_s)
        return device_s if agree else host_s

    def _work(self, part: Plan) -> None:
        for group in self._steps(part, observed=False):
            calls = group.calls
            for iteration in range(group.count):
                for call in calls:
                    call(iteration)

    def _observed_work(self, part: Plan) -> Iterator[Pass]:
        for group in self._steps(part, observed=True):
            for iteration in range(group.count):
                for pass_, call in zip(group.passes, group.calls, strict=True):
                    call(iteration)
                    yield at_iteration(pass_, iteration)

    def _show(self, observer: Observer, number: int, pass_: Pass) -> None:
        """See Prepared. An observer may use any context: this one is released meanwhile."""
        may_read = True

        def read(name: str) -> F32:
            if not may_read:
                raise InputError(
                    f"texture {name} of plan {self.plan.name} can be read while its observer runs, "
                    "and not later"
                )
            with self.context.current():
                return self._texels(name)

        with self.context.released():
            try:
                observer(number, pass_, read)
            finally:
                may_read = False
        self._begin(observed=True)

    def _release(self) -> None:
        resources = list(reversed(self._owned))
        self._owned.clear()
        for resource in resources:
            resource.release()
        self._forget()
        self.context.collect()

    @abstractmethod
    def _build(self) -> None:
        """Check the device's limits; then allocate, compile, record and warm up."""

    @abstractmethod
    def _clear(self, name: str, value: NumberVec4) -> Call:
        """A recorded clear of a texture."""

    @abstractmethod
    def _begin(self, *, observed: bool) -> None:
        """Set the state that steps rely on: before the first step, and again after an observer."""

    def _steps(self, part: Plan, *, observed: bool) -> Sequence[RecordedSteps]:
        """A part's recorded steps; for an observed run pass by pass, with nothing fused."""
        return self._recorded[id(part)]

    def _forget(self) -> None:
        """Drop references to compiled code, so that it can be released."""
        self._recorded, self._first, self._device = {}, [], None
        self._new_results = dict
