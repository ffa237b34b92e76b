"""The skeleton of prepared plans on OpenGL: allocate and compile, upload, step, read back.

What a pass asks of OpenGL is settled when the plan is prepared and recorded as a function of the
iteration; a run calls one after another. A Repeat is recorded once, whatever its count.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, TypeVar

from gpgpu_legacy.boundary import on_behalf
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import Pass, Plan, Repeat
from gpgpu_legacy.runtime.gl_sharing import Releasable, SharedContext
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32, Observer, Prepared, Result

PATIENCE_S = 10.0
"""After a run that took longer, the context is asked whether it still works: drivers reset a device
that they have waited for too long, NVIDIA's after 15 s, and say nothing."""

_Object = TypeVar("_Object", bound=Releasable)
_Shared = TypeVar("_Shared", bound=SharedContext[Any])


@dataclass(frozen=True, slots=True)
class Recorded:
    """Steps made ready, in order, done `count` times.

    passes: what the steps are in the plan; needed only where an observer is told of it, and then
    one a step. calls: a function of the iteration, from 0, for each step.
    """

    count: int
    passes: tuple[Pass, ...]
    calls: tuple[Callable[[int], object], ...]


def recorded(plan: Plan, record: Callable[[Pass, int], Callable[[int], object]]) -> list[Recorded]:
    """A plan's steps, pass by pass; passes in a row are one Recorded.

    record: makes a pass ready as the plan writes it, given how often it runs.
    """
    groups: list[Recorded] = []
    row: list[Pass] = []

    def add(count: int, passes: Sequence[Pass]) -> None:
        if passes and count:
            calls = tuple(record(each, count) for each in passes)
            groups.append(Recorded(count, tuple(passes), calls))

    for step in plan.steps:
        if isinstance(step, Repeat):
            add(1, row)
            row = []
            add(step.count, step.body)
        else:
            row.append(step)
    add(1, row)
    return groups


class GlPrepared(Prepared, Generic[_Shared]):
    """A plan made ready on an OpenGL context, with the objects that it made there.

    A subclass allocates and compiles in `_build`, and says how to upload, what the steps are and
    how to read. All of that runs while the context is current. Objects given to `keep` are released
    by closing, last first; and, where nobody closes, when the context is next used.
    """

    def __init__(self, context: _Shared, plan: Plan, machine: Machine) -> None:
        """plan: validated, without Tables. What is made goes again where making it fails."""
        super().__init__(plan, machine)
        self.context = context
        self._objects: list[Releasable] = []
        self._let_go = context.release_with(self, self._objects)
        with context.current():
            try:
                self._build()
            except BaseException:
                self._release()
                raise

    def keep(self, made: _Object) -> _Object:
        """Remember an object, to be released when the plan is closed."""
        self._objects.append(made)
        return made

    def run(self, operands: Mapping[str, F32], observer: Observer | None = None) -> Result:
        """See Prepared. Raises ExecutorUnavailableError in a process that was forked since."""
        self.context.require_own_process()
        return super().run(operands, observer)

    def close(self) -> None:
        """See Prepared. In a process that was forked since, there is nothing to release."""
        if self.context.is_usable:
            super().close()

    def _session(self) -> AbstractContextManager[object]:
        return self.context.current()

    def _upload(self, operands: Mapping[str, F32]) -> None:
        self._send(operands)
        self.context.finish()

    def _compute(self, observer: Observer | None) -> None:
        started = perf_counter()
        self._begin(observed=observer is not None)
        if observer is None:
            for group in self._steps(observed=False):
                calls = group.calls
                for iteration in range(group.count):
                    for call in calls:
                        call(iteration)
        else:
            self._compute_observed(observer)
        self.context.finish()
        if perf_counter() - started > PATIENCE_S:
            self.context.require_answers()

    def _compute_observed(self, observer: Observer) -> None:
        steps = _one_by_one(self._steps(observed=True))
        for number, (each, call, iteration) in enumerate(steps):
            call(iteration)
            self._show(observer, number, at_iteration(each, iteration))

    def _show(self, observer: Observer, number: int, done: Pass) -> None:
        """Call the observer without the context; it may use whichever contexts it likes."""
        telling = True

        def read(name: str) -> F32:
            if not telling:
                raise InputError(
                    f"texture {name} of plan {self.plan.name} is read while the observer is told "
                    "of a pass, and not later"
                )
            with self.context.current():
                return self._texels(name)

        with self.context.released():
            try:
                on_behalf(observer, number, done, read)
            finally:
                telling = False
        self._begin(observed=True)

    def _release(self) -> None:
        objects = list(reversed(self._objects))
        self._objects.clear()
        for made in objects:
            made.release()
        self._forget()
        self.context.collect()

    @abstractmethod
    def _build(self) -> None:
        """Refuse what the device has no room for; then allocate, compile and warm up."""

    @abstractmethod
    def _send(self, operands: Mapping[str, F32]) -> None:
        """Set initial values and send the operands."""

    @abstractmethod
    def _begin(self, *, observed: bool) -> None:
        """Set what the steps rely on: before the first one, and again after an observer."""

    @abstractmethod
    def _steps(self, *, observed: bool) -> Sequence[Recorded]:
        """The steps; for an observed run pass by pass, with nothing fused."""

    @abstractmethod
    def _texels(self, name: str) -> F32:
        """A whole texture, as observers get it: (rows, W, channels) float32."""

    @abstractmethod
    def _forget(self) -> None:
        """Drop references to what was compiled, so that it can go."""


def _one_by_one(
    groups: Sequence[Recorded],
) -> Iterator[tuple[Pass, Callable[[int], object], int]]:
    for group in groups:
        for iteration in range(group.count):
            for each, call in zip(group.passes, group.calls, strict=True):
                yield each, call, iteration
