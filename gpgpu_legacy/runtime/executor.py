"""The contract of executors: a plan is prepared once and run as often as one likes.

`Executor.prepare` generates and compiles what a plan needs and allocates what it works on;
`Prepared.run` moves operands in, carries the passes out and moves the results back, and neither
allocates on the device nor compiles; `Prepared.close` gives everything back. `Executor.run` is
prepare and run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.arguments import as_callable, as_flag, as_instance, as_mapping, shape_in_words
from gpgpu_legacy.boundary import guard_members, public
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP32, Arithmetic
from gpgpu_legacy.memory import require_memory
from gpgpu_legacy.plan.expand import without_tables
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.validate import validate

if TYPE_CHECKING:
    from gpgpu_legacy.lower.workgroups import GroupShape
    from gpgpu_legacy.runtime.denormals import Way

F32 = NDArray[np.float32]

FRAGMENT_PASSES: frozenset[type[Pass]] = frozenset({FragmentPass, CopyPass, ClearPass})
ALL_PASSES = FRAGMENT_PASSES | {ComputePass}
EVERY_ARITHMETIC = frozenset(ARITHMETICS)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The shape that generated code is to have; None leaves it to the executor's own rule.

    group: of a work group, where fragment programs become compute shaders. tile: rows and vectors
    across of the tiles of fragments that native code takes.
    """

    group: GroupShape | None = None
    tile: tuple[int, int] | None = None


@public
@dataclass(frozen=True, slots=True)
class Machine:
    """How a run computes.

    exact: the reference executor's bits. A multiply-add is rounded after the multiplication and
    after the addition, where a device may contract it otherwise, and denormals are kept; an
    executor whose device cannot give them refuses. Nothing is reordered in either case.
    denormals: whether an exact run needs them. If not, a device that flushes them does not refuse,
    and the bits are the reference's as long as no number is denormal.
    arithmetic: the format that results of fragment programs are rounded to. Kernels compute in
    float32.
    tuning: the shape of generated code. It changes times and no result; an executor may ignore it.
    """

    exact: bool = False
    arithmetic: Arithmetic = FP32
    tuning: Tuning | None = None
    denormals: bool = True

    def checked(self) -> Machine:
        """The machine; InputError, naming the field, for a field of another type."""
        as_flag("machine.exact", self.exact)
        as_flag("machine.denormals", self.denormals)
        as_instance("machine.arithmetic", self.arithmetic, Arithmetic)
        if self.tuning is not None:
            as_instance("machine.tuning", self.tuning, Tuning)
        return self


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an executor can do; code elsewhere asks for this, and not for an executor's name.

    passes: the kinds of pass that it runs. arithmetics: by name, those of fragment programs.
    exact: whether `Machine.exact` gives the reference's bits for fragment programs.
    fuses_passes: whether passes whose fragments read back only their own texels are fused.
    tuning: the fields of Tuning that it uses.
    is_reference: whether it defines what the others must give. runs_driver_programs: whether the
    driver gets the program's own text, so that it is a peer to compare with.
    gpu_rank, cpu_rank: its place in the order of `auto` on a GPU and on the CPU; None: no place.
    """

    passes: frozenset[type[Pass]]
    arithmetics: frozenset[str] = frozenset({FP32.name})
    exact: bool = True
    fuses_passes: bool = False
    tuning: frozenset[str] = frozenset()
    is_reference: bool = False
    runs_driver_programs: bool = False
    gpu_rank: int | None = None
    cpu_rank: int | None = None


@public
@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds of the parts of one run.

    upload_s: matrices to textures. compute_s: the passes. readback_s: textures to matrices.
    prepare_s: preparing the plan, once for all of its runs.
    """

    upload_s: float
    compute_s: float
    readback_s: float
    prepare_s: float = 0.0


@public
@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run: float32 matrices by name, and the times."""

    outputs: Mapping[str, F32]
    timings: Timings


Observer = Callable[[int, Pass, Callable[[str], F32]], None]
"""Called after each pass with its number from 0, the pass, and a function that reads a texture
by name: (H, W, channels) float32, row 0 first. Reading leaves the run as it was."""


@public
class Prepared(ABC):
    """A plan that is ready to run on an executor, with everything that it allocated.

    It is a context manager, which closes it. Any thread may run and close it; runs exclude one
    another. Each run computes its results from its operands alone, not from earlier runs.
    """

    def __init__(self, plan: Plan, machine: Machine) -> None:
        """plan: validated, without Tables. A subclass allocates and compiles here."""
        self.plan, self.machine = plan, machine
        self.prepare_s = 0.0
        self._lock = RLock()
        self._closed = self._running = False

    def run(self, operands: Mapping[str, F32], observer: Observer | None = None) -> Result:
        """Run the plan on operands by name, float32 of the shapes in plan.operands.

        observer: called after each pass. Raises InputError for operands that do not fit, for a plan
        that is closed, and when called by an observer of the same run.
        """
        given = check_operands(self.plan, operands)
        as_callable("observer", observer)
        with self._lock:
            self._require_idle("run")
            self._running = True
            try:
                return self._run(given, observer)
            finally:
                self._running = False

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

    def _run(self, operands: Mapping[str, F32], observer: Observer | None) -> Result:
        """Upload, compute, read back, each timed to its end."""
        with self._session():
            self._make_ready(observed=observer is not None)
            started = perf_counter()
            self._upload(operands)
            uploaded = perf_counter()
            self._compute(observer)
            computed = perf_counter()
            outputs = self._read_back()
            finished = perf_counter()
        return Result(
            outputs,
            Timings(uploaded - started, computed - uploaded, finished - computed, self.prepare_s),
        )

    def _session(self) -> AbstractContextManager[object]:
        """What must be held while the device is used: a context, say."""
        return nullcontext()

    def _make_ready(self, *, observed: bool) -> None:  # noqa: B027 - many have nothing to do
        """Before the clock starts: make what only an observed run needs, where it is missing."""

    @abstractmethod
    def _upload(self, operands: Mapping[str, F32]) -> None:
        """Set initial values and send the operands; return when they have arrived."""

    @abstractmethod
    def _compute(self, observer: Observer | None) -> None:
        """Carry out all passes, telling the observer of each; return when they are done."""

    @abstractmethod
    def _read_back(self) -> dict[str, F32]:
        """The matrices that the plan makes, by name, in arrays of their own."""

    @abstractmethod
    def _release(self) -> None:
        """Give back what was allocated."""


@public
class Executor(ABC):
    """Something that runs plans: a CPU, or a GPU through an API of its time.

    The registry finds every module of runtime/executors that defines an EXECUTOR.
    """

    name: ClassVar[str]
    """What the command line calls it."""
    summary: ClassVar[str]
    """What it is, in a line."""
    capabilities: ClassVar[Capabilities]

    def __init_subclass__(cls, **given: Any) -> None:
        """Guard what an executor implements of this contract."""
        super().__init_subclass__(**given)
        guard_members(cls)

    @abstractmethod
    def device(self) -> str:
        """The device, in words; ExecutorUnavailableError if the executor cannot run here."""

    @abstractmethod
    def is_hardware(self) -> bool:
        """Whether the device is a GPU; ExecutorUnavailableError if the executor cannot run here."""

    @abstractmethod
    def memory_bytes(self, plan: Plan) -> int:
        """About how many bytes of the host's memory a plan takes: prepared, and with its results.

        plan: valid. The operands are the caller's and do not count.
        """

    @abstractmethod
    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        """Make a validated plan without Tables ready, on a machine whose arithmetic it has."""

    def prepare(self, plan: Plan, machine: Machine = Machine()) -> Prepared:
        """Prepare a plan to run: validate it, generate and compile code, allocate memory.

        Raises PlanError for a plan that is not valid, for passes and arithmetics that the executor
        does not support, for exact runs that the device cannot do, and for sizes that exceed it;
        InputError where the machine has too little memory left.
        """
        started = perf_counter()
        validate(plan)
        as_instance("machine", machine, Machine).checked()
        missing = plan.kinds - self.capabilities.passes
        if missing:
            raise PlanError(
                f"plan {plan.name} has {names_of(missing)}, which {self.name} does not run"
            )
        self._require_arithmetic(machine, kernels=plan.dispatches)
        self._require_exactness(plan, machine)
        require_memory(
            self.memory_bytes(plan),
            f"plan {plan.name} on {self.name}",
            "make its matrices and textures smaller",
        )
        prepared = self._prepare(without_tables(plan), machine)
        prepared.prepare_s = perf_counter() - started
        return prepared

    def run(
        self,
        plan: Plan,
        operands: Mapping[str, F32],
        machine: Machine = Machine(),
        observer: Observer | None = None,
    ) -> Result:
        """Prepare a plan, run it once and close it. operands, observer: as for Prepared.run."""
        with self.prepare(plan, machine) as prepared:
            return prepared.run(operands, observer)

    def why_inexact(self, plan: Plan, machine: Machine) -> str:
        """Why an exact run would not give the reference's bits here, in words; empty if it would.

        Raises ExecutorUnavailableError where the executor cannot run here.
        """
        as_instance("machine", machine, Machine).checked()
        if not self.capabilities.exact:
            return f"{self.name} leaves rounding to the driver"
        if not machine.denormals or machine.arithmetic.rounds:  # which know none of float32's
            return ""
        from gpgpu_legacy.runtime.denormals import in_words, ways_of

        flushed = self.flushed_ways()
        if not flushed & ways_of(plan):
            return ""
        return f"denormals are {in_words(flushed)} by {self.device()}"

    def flushed_ways(self) -> frozenset[Way]:
        """The ways on which denormals become 0 on the device; measured once a process."""
        from gpgpu_legacy.runtime.denormals import flushed_by

        return flushed_by(self)

    def _require_exactness(self, plan: Plan, machine: Machine) -> None:
        if not machine.exact or not (why := self.why_inexact(plan, machine)):
            return
        from gpgpu_legacy.runtime.registry import exact_executors

        others = " or ".join(executor.name for executor in exact_executors(plan, machine))
        accepting = replace(machine, denormals=False)
        accept = "" if self.why_inexact(plan, accepting) else ", with --flush-denormals"
        raise PlanError(
            f"{self.name} cannot run {plan.name} exactly, for {why}; run it without exact{accept}, "
            f"or exactly on {others or 'another machine'}"
        )

    def _require_arithmetic(self, machine: Machine, *, kernels: bool) -> None:
        wanted, has = machine.arithmetic.name, self.capabilities.arithmetics
        if self.capabilities.is_reference and not kernels:
            return  # it rounds as any arithmetic says
        if wanted not in (has & {FP32.name} if kernels else has):
            raise PlanError(
                f"{'a kernel' if kernels else self.name} computes in {FP32.name}, not in {wanted}; "
                "for fragment programs, `gpgpu-legacy doctor` lists the executors with --arithmetic"
            )


_KINDS: Mapping[type[Pass], str] = {
    FragmentPass: "fragment passes",
    CopyPass: "copies",
    ClearPass: "clears",
    ComputePass: "compute passes",
}


def names_of(kinds: frozenset[type[Pass]]) -> str:
    """Kinds of pass in words."""
    return " and ".join(sorted(_KINDS[kind] for kind in kinds))


def check_operands(plan: Plan, operands: Mapping[str, F32]) -> dict[str, F32]:
    """The operands that a plan wants, as contiguous float32 arrays of rows × columns.

    Each is given as rows × columns, or in the shape that its Matrix has for callers. Operands that
    the plan does not have are ignored. Raises InputError where one is missing, is not an array of
    real numbers, or has another shape.
    """
    as_mapping("operands", operands, "a mapping of matrices by name")
    wanted = {matrix.name: matrix for matrix in plan.operands}
    missing = [name for name in wanted if name not in operands]
    if missing:
        raise InputError(
            f"plan {plan.name} needs the operands {', '.join(wanted)}; "
            f"give {', '.join(missing)}, too"
        )
    given: dict[str, F32] = {}
    for name, matrix in wanted.items():
        array = np.asarray(operands[name])
        if array.dtype.kind not in "fiub":
            raise InputError(
                f"operand {name} holds values of type {array.dtype}; give real numbers"
            )
        shape = (matrix.rows, matrix.columns)
        if array.shape not in (shape, matrix.array_shape):
            raise InputError(
                f"operand {name} is {shape_in_words(array.shape)}, but plan {plan.name} needs "
                f"{shape_in_words(matrix.array_shape)}"
            )
        given[name] = np.ascontiguousarray(array.reshape(shape), np.float32)
    return given
