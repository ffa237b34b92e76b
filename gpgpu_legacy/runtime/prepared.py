"""A plan that is ready to run: it moves operands in, runs the passes and moves the results back.

A run neither allocates on the device nor compiles; all of that is done when a plan is prepared
(runtime/executor.py). Closing a prepared plan releases everything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import groupby, islice
from math import isnan
from threading import RLock
from time import perf_counter
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, shape_in_words
from gpgpu_legacy.isa.execute import Tally
from gpgpu_legacy.plan.plan import Pass, Plan, Round, Step, Until
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.serial import Record

F32 = NDArray[np.float32]


class Timings(Record, kw_only=False, rename=lambda name: name.removesuffix("_s")):
    """The times of the phases of one run, in seconds.

    upload_s: matrices to textures. compute_s: the passes, on a GPU by its own clock. readback_s:
    textures to matrices. prepare_s: preparing the plan, once for all of its runs.
    """

    upload_s: float
    compute_s: float
    readback_s: float
    prepare_s: float = 0.0


class Ended(Record, kw_only=False):
    """The end of a loop with a condition.

    reached: whether the condition held; if not, the loop ran all of its iterations.
    """

    iterations: int
    reached: bool


@frozen
class RunResult:
    """The result of a run: float32 matrices by name, and the times.

    untils: how each Until ended, in the order in which they began. tally: what a machine that
    counts has counted of instructions; else None.
    """

    outputs: Mapping[str, F32]
    timings: Timings
    untils: tuple[Ended, ...] = ()
    tally: Tally | None = None


Ahead = Callable[[Until, int], int]
"""Runs more rounds of an Until, given how many have begun, while its condition permits. Returns how
many it has run.
"""


class Parts:
    """A plan, divided where the conditions of its Untils are asked.

    leaves: the parts, which are plans of the same textures. untils: all Untils. A plan without
    Untils is its only part.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.leaves: list[Plan] = []
        self.untils: list[Until] = []
        self._split: dict[int, list[Plan | Until]] = {}
        self._add(plan, plan.steps)

    def _add(self, plan: Plan, steps: tuple[Step, ...]) -> None:
        parts = self._split[id(steps)] = []
        for is_until, some in groupby(steps, key=lambda step: isinstance(step, Until)):
            if not is_until:
                leaf = tuple(some)
                self.leaves.append(plan if leaf == plan.steps else replace(plan, steps=leaf))
                parts.append(self.leaves[-1])
                continue
            for until in some:
                assert isinstance(until, Until)
                parts.append(until)
                self.untils.append(until)
                for round_ in (*until.rounds, *until.end):
                    self._add(plan, round_.body)
                    self._add(plan, round_.restore)

    def only(self, round_: Round) -> Plan | None:
        """The single part that is a round's body; None if an Until divides it."""
        parts = self._split[id(round_.body)]
        return parts[0] if len(parts) == 1 and isinstance(parts[0], Plan) else None

    def run(
        self,
        steps: tuple[Step, ...],
        texel: Callable[[str], float],
        ahead: Ahead,
        ended: list[Ended],
    ) -> Iterator[Plan]:
        """The parts of steps, in order; the caller runs each before it asks for the next.

        texel: reads a texture of one texel. ahead: see Ahead. ended: the list to which the end of
        each Until is added. Raises InputError if a condition's texel is NaN.
        """
        for part in self._split[id(steps)]:
            if isinstance(part, Until):
                yield from self._loop(part, texel, ahead, ended)
            else:
                yield part

    def _loop(
        self, until: Until, texel: Callable[[str], float], ahead: Ahead, ended: list[Ended]
    ) -> Iterator[Plan]:
        number, iterations, reached = len(ended), 0, False
        ended.append(Ended(0, reached))
        rounds = enumerate(until.each_round(), 1)
        for done, round_ in rounds:
            value = texel(round_.condition)
            if isnan(value):
                raise InputError(
                    f"the texel of {round_.condition} is NaN after {iterations} iterations, so "
                    f"nothing tells whether it is below {until.below:g}; see what it is computed "
                    "from"
                )
            if reached := value < until.below:
                yield from self.run(round_.restore, texel, ahead, ended)
                break
            yield from self.run(round_.body, texel, ahead, ended)
            iterations += round_.iterations
            for _, unasked in islice(rounds, ahead(until, done)):
                iterations += unasked.iterations
        ended[number] = Ended(iterations, reached)


@frozen
class Held:
    """About how many bytes a prepared plan holds: of the host's memory, and of a GPU's own."""

    host_bytes: int = 0
    device_bytes: int = 0


Observer = Callable[[int, Pass, Callable[[str], F32]], None]
"""Called after each pass with its number from 0, the pass, and a function that reads a texture
by name: (H, W, channels) float32, row 0 first. Reading does not change the run."""


class Prepared(ABC):
    """A plan that is ready to run on an executor, with everything that it allocated.

    A `with` block closes it. Any thread may run and close it; runs exclude one another. Each run
    computes its results from its operands alone, unless it resumes the run before.
    """

    def __init__(self, plan: Plan, machine: Machine) -> None:
        """plan: validated, without Tables. A subclass allocates and compiles here."""
        self.plan, self.machine = plan, machine
        self.parts = Parts(plan)
        self.prepare_s = 0.0
        self.tally: Tally | None = None  # of the last run, by machines that count
        self._lock = RLock()
        self._closed = self._running = self._has_run = False

    @property
    def held(self) -> Held:
        """The memory that it holds until it is closed."""
        return Held(host_bytes=self.plan.texture_bytes)

    def run(
        self,
        operands: Mapping[str, F32],
        observer: Observer | None = None,
        *,
        resume: bool = False,
        times: int = 1,
    ) -> RunResult:
        """Run the plan on operands by name, float32 of the shapes in plan.operands.

        observer: called after each pass. resume: begin with the textures that the last run left; an
        operand may then be missing, and its texture stays as it is. times: run the passes that many
        times, one after another. Raises InputError for operands that do not fit, for a plan that is
        closed or has nothing to resume, and when called by an observer of the same run.
        """
        self._require_fit()
        checked = check_operands(self.plan, operands, some=resume)
        with self._lock:
            self._require_idle("run")
            if resume and not self._has_run:
                raise InputError(f"plan {self.plan.name} has not run yet; run it without resume")
            self._running = True
            try:
                result = self._run(checked, observer, resume, times)
            finally:
                self._running = False
            self._has_run = True
            return result

    def close(self) -> None:
        """Release everything but results that were read back. Closing twice has no effect."""
        with self._lock:
            if self._closed:
                return
            self._require_idle("closed")
            self._closed = True
            with self._session():
                self._release()

    def __enter__(self) -> Self:
        """The prepared plan itself; it is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _require_fit(self) -> None:  # noqa: B027 - many run in any thread and process
        """Raise an error if it cannot run in this process and thread.

        This precedes the lock, which in a forked process nobody may be left to release.
        """

    def _require_idle(self, what: str) -> None:
        if self._closed:
            raise InputError(
                f"the prepared plan {self.plan.name} is closed and cannot be {what}; prepare it "
                "again"
            )
        if self._running:
            raise InputError(
                f"the prepared plan {self.plan.name} is running and cannot be {what} by its own "
                "observer; prepare the plan a second time for that"
            )

    def _run(
        self, operands: Mapping[str, F32], observer: Observer | None, resume: bool, times: int
    ) -> RunResult:
        """Upload, compute, read back, each timed to its end."""
        with self._session():
            self._make_ready(observed=observer is not None)
            started = perf_counter()
            self._upload(operands, resume=resume)
            uploaded = perf_counter()
            ended = self._compute(observer, times)
            computed = perf_counter()
            compute_s = self._compute_s(computed - uploaded)
            outputs = self._read_back()
            finished = perf_counter()
        return RunResult(
            outputs,
            Timings(uploaded - started, compute_s, finished - computed, self.prepare_s),
            tuple(ended),
            self.tally,
        )

    def _compute(self, observer: Observer | None, times: int) -> list[Ended]:
        """Run all parts, and show each pass to the observer; return when they are done."""
        ended: list[Ended] = []
        number = 0
        for _ in range(times):
            ahead: Ahead = self._ahead if observer is None else lambda *_: 0
            for part in self.parts.run(self.plan.steps, self._first_texel, ahead, ended):
                if observer is None:
                    self._work(part)
                    continue
                for pass_ in self._observed_work(part):
                    self._show(observer, number, pass_)
                    number += 1
        return ended

    def _show(self, observer: Observer, number: int, pass_: Pass) -> None:
        """Call the observer after a pass."""
        observer(number, pass_, self._texels)

    def _first_texel(self, name: str) -> float:
        """The red channel of the first texel of a texture, after all that has run."""
        return float(self._texels(name)[0, 0, 0])

    def _ahead(self, until: Until, done: int) -> int:
        """See Ahead. A device that decides by itself is asked less often than after each round."""
        return 0

    def _compute_s(self, host_s: float) -> float:
        """The seconds that computing has just taken. host_s: by the host's clock."""
        return host_s

    def _session(self) -> AbstractContextManager[object]:
        """A context manager that is held while the device is used."""
        return nullcontext()

    def _make_ready(self, *, observed: bool) -> None:  # noqa: B027 - many have nothing to prepare
        """Prepare what an observed run needs in addition, before the clock starts."""

    @abstractmethod
    def _upload(self, operands: Mapping[str, F32], *, resume: bool) -> None:
        """Set initial values, unless the run resumes, and send the operands; return when done."""

    @abstractmethod
    def _work(self, part: Plan) -> None:
        """Run a part's passes."""

    @abstractmethod
    def _observed_work(self, part: Plan) -> Iterator[Pass]:
        """Run a part's passes, and yield each, as it is in its iteration, when it is done."""

    @abstractmethod
    def _texels(self, name: str) -> F32:
        """A whole texture, as observers get it: (rows, W, channels) float32."""

    @abstractmethod
    def _read_back(self) -> dict[str, F32]:
        """The matrices that the plan computes, by name, in new arrays."""

    @abstractmethod
    def _release(self) -> None:
        """Release what was allocated."""


def check_operands(
    plan: Plan, operands: Mapping[str, F32], *, some: bool = False
) -> dict[str, F32]:
    """The operands of a plan, as contiguous float32 arrays of rows × columns.

    Each is given as rows × columns, or in the shape that its Matrix has for callers. Operands that
    the plan does not have are ignored. some: whether operands may be missing. Raises InputError if
    one is missing, is not an array of real numbers, or has another shape.
    """
    wanted = {m.name: m for m in plan.operands if not some or m.name in operands}
    missing = [name for name in wanted if name not in operands]
    if missing:
        raise InputError(
            f"plan {plan.name} needs the operands {', '.join(wanted)}; "
            f"give {', '.join(missing)}, too"
        )
    checked: dict[str, F32] = {}
    for name, matrix in wanted.items():
        array = np.asarray(operands[name])
        if array.dtype.kind not in "fiub":
            raise InputError(
                f"operand {name} holds values of type {array.dtype}; give real numbers"
            )
        shape = (matrix.rows, matrix.columns)
        if array.shape not in (shape, matrix.shape):
            raise InputError(
                f"operand {name} is {shape_in_words(array.shape)}, but plan {plan.name} needs "
                f"{shape_in_words(matrix.array_shape)}"
            )
        with np.errstate(over="ignore"):
            checked[name] = np.ascontiguousarray(array.reshape(shape), np.float32)
    return checked


def in_shape(plan: Plan, outputs: Mapping[str, F32]) -> dict[str, F32]:
    """The outputs of a run in the shapes that callers get."""
    return {m.name: outputs[m.name].reshape(m.array_shape) for m in plan.results}
