"""The Machine that a run asks for, and the Capabilities of an executor."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP32, Arithmetic
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, FragmentPass, Pass

if TYPE_CHECKING:
    from gpgpu_legacy.lower.groups.shape import GroupShape
    from gpgpu_legacy.lower.temporal.content import TemporalShape

FRAGMENT_PASSES: frozenset[type[Pass]] = frozenset({FragmentPass, CopyPass, ClearPass})
ALL_PASSES = FRAGMENT_PASSES | {ComputePass}
EVERY_ARITHMETIC = frozenset(ARITHMETICS)


@frozen
class Tuning:
    """The shape of generated code; None leaves it to the executor's own rule.

    group: the shape of a work group, where fragment programs become compute shaders. tile: the rows
    of a tile of fragments in native code, and the vectors of a row. temporal: the shape of a work
    group that runs several iterations of passes that read neighbours; if it does not fit,
    iterations run one at a time.
    """

    group: GroupShape | None = None
    tile: tuple[int, int] | None = None
    temporal: TemporalShape | None = None


@public
@frozen
class Machine:
    """How a run computes.

    exact: the reference executor's bits. A multiply-add, which a device could otherwise contract,
    is rounded after the multiplication and after the addition, and denormals are kept; an executor
    whose device cannot do that refuses. Nothing is reordered in either case. denormals: whether an
    exact run needs them. If not, a device that flushes them does not refuse, and the bits are the
    reference's as long as no number is denormal. arithmetic: the format that results of fragment
    programs are rounded to. Kernels compute in float32. tuning: the shape of generated code. It
    changes times, not results; an executor may ignore it.
    """

    exact: bool = False
    arithmetic: Arithmetic = FP32
    tuning: Tuning | None = None
    denormals: bool = True


DEFAULT_MACHINE = Machine()


class Device(Enum):
    """The device of an executor. NONE: no device, or an unknown one."""

    HOST = "host"
    SOFTWARE = "software"
    GPU = "gpu"
    NONE = "none"


@frozen
class Task:
    """The properties of a plan that an estimate of its time needs.

    programs: the instructions of each distinct program. kernels: the number of distinct ones.
    steps: of the plan. passes: the number that run. instructions: of programs, over all passes.
    work: instructions over all fragments, and operations of kernels. accesses: of kernels to
    memory. invocations: of kernels.
    """

    programs: tuple[int, ...] = ()
    kernels: int = 0
    steps: int = 0
    passes: int = 0
    instructions: int = 0
    work: float = 0.0
    accesses: float = 0.0
    invocations: int = 0


@frozen
class Pace:
    """The approximate speed of an executor on a device, in seconds, for the choice of `auto`.

    start_s: to load libraries, or to make a context, once a process. code_s, kept_s: for an
    instruction of a program, if it is compiled now, and if its code was kept. kernel_s,
    kept_kernel_s: the same for a kernel. step_s: to prepare a step of a plan. pass_s: for a pass,
    whatever it draws. instruction_s: for an instruction of a pass. per_s: instructions a second,
    over all fragments. kernels_per_s: operations and accesses of kernels a second. statement_s: for
    each operation and access of an invocation, whatever the number of invocations.
    """

    start_s: float = 0.0
    code_s: float = 0.0
    kept_s: float = 0.0
    kernel_s: float = 0.0
    kept_kernel_s: float = 0.0
    step_s: float = 0.0
    pass_s: float = 0.0
    instruction_s: float = 0.0
    per_s: float = 1e9
    kernels_per_s: float = 1e9
    statement_s: float = 0.0

    def prepare_s(self, task: Task, *, is_kept: bool, is_started: bool) -> float:
        """Seconds to prepare a plan. is_kept: whether code is kept. is_started: see Executor."""
        of_code, of_kernel = (
            (self.kept_s, self.kept_kernel_s) if is_kept else (self.code_s, self.kernel_s)
        )
        compiling = sum(of_code * min(length, MOST_COMPILED) for length in task.programs)
        starting = 0.0 if is_started else self.start_s
        return starting + compiling + task.kernels * of_kernel + task.steps * self.step_s

    def run_s(self, task: Task) -> float:
        """Seconds of a run."""
        drawing = task.passes * self.pass_s + task.instructions * self.instruction_s
        if not task.invocations:
            return drawing + task.work / self.per_s
        total = task.work + task.accesses
        return drawing + total / self.kernels_per_s + total / task.invocations * self.statement_s


MOST_COMPILED = 200
"""Instructions of a program up to which the time to compile it grows. Longer programs are unrolled
loops, which compilers reroll.
"""


@frozen
class Capabilities:
    """The capabilities of an executor; code elsewhere asks for these, not for an executor's name.

    passes: the kinds of pass that it runs. arithmetics: the names of those of fragment programs.
    exact: whether `Machine.exact` gives the reference's bits for fragment programs.
    has_driver_functions: whether a driver computes functions such as EX2 in its own way, so that
    the instructions allowed in exact runs must be measured. fuses_passes: whether passes whose
    fragments read back only their own texels are fused. tuning: the fields of Tuning that products
    are tuned by. is_reference: whether it defines the results of all others. runs_driver_programs:
    whether the driver gets the program's own text, so that it is a peer to compare with.
    is_of_host: whether it always computes on the CPU.
    """

    passes: frozenset[type[Pass]]
    arithmetics: frozenset[str] = frozenset({FP32.name})
    exact: bool = True
    has_driver_functions: bool = False
    fuses_passes: bool = False
    tuning: frozenset[str] = frozenset()
    is_reference: bool = False
    runs_driver_programs: bool = False
    is_of_host: bool = False

    @property
    def stages_texels(self) -> bool:
        """Whether fragments are computed in tiles by work groups, which stage what they share."""
        return "group" in self.tuning


_KINDS: Mapping[type[Pass], str] = {
    FragmentPass: "fragment passes",
    CopyPass: "copies",
    ClearPass: "clears",
    ComputePass: "compute passes",
}


def names_of(kinds: frozenset[type[Pass]]) -> str:
    """Kinds of pass in words."""
    return " and ".join(sorted(_KINDS[kind] for kind in kinds))
