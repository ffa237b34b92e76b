"""How a run computes, and what an executor can do: the values that the two are compared by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP32, Arithmetic
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, FragmentPass, Pass

if TYPE_CHECKING:
    from gpgpu_legacy.lower.temporal_shape import TemporalShape
    from gpgpu_legacy.lower.workgroups import GroupShape

FRAGMENT_PASSES: frozenset[type[Pass]] = frozenset({FragmentPass, CopyPass, ClearPass})
ALL_PASSES = FRAGMENT_PASSES | {ComputePass}
EVERY_ARITHMETIC = frozenset(ARITHMETICS)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The shape that generated code is to have; None leaves it to the executor's own rule.

    group: of a work group, where fragment programs become compute shaders. tile: rows and vectors
    across of the tiles of fragments that native code takes. temporal: of a work group that runs
    several iterations of passes that read neighbours; where it does not fit they run one at a time.
    """

    group: GroupShape | None = None
    tile: tuple[int, int] | None = None
    temporal: TemporalShape | None = None


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


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an executor can do; code elsewhere asks for this, and not for an executor's name.

    passes: the kinds of pass that it runs. arithmetics: by name, those of fragment programs.
    exact: whether `Machine.exact` gives the reference's bits for fragment programs.
    has_driver_functions: whether a driver computes functions such as EX2 in its own way, so that it
    is measured which instructions exact runs may use.
    fuses_passes: whether passes whose fragments read back only their own texels are fused.
    tuning: the fields of Tuning that products are tuned by.
    is_reference: whether it defines what the others must give. runs_driver_programs: whether the
    driver gets the program's own text, so that it is a peer to compare with.
    gpu_rank, cpu_rank: its place in the order of `auto` on a GPU and on the CPU; None: no place.
    """

    passes: frozenset[type[Pass]]
    arithmetics: frozenset[str] = frozenset({FP32.name})
    exact: bool = True
    has_driver_functions: bool = False
    fuses_passes: bool = False
    tuning: frozenset[str] = frozenset()
    is_reference: bool = False
    runs_driver_programs: bool = False
    gpu_rank: int | None = None
    cpu_rank: int | None = None

    @property
    def stages_texels(self) -> bool:
        """Whether fragments are computed in tiles by work groups, which stage what they share."""
        return "group" in self.tuning

    @property
    def is_of_host(self) -> bool:
        """Whether it computes on the CPU, whatever GPU there is."""
        return self.cpu_rank is not None and self.gpu_rank is None


_KINDS: Mapping[type[Pass], str] = {
    FragmentPass: "fragment passes",
    CopyPass: "copies",
    ClearPass: "clears",
    ComputePass: "compute passes",
}


def names_of(kinds: frozenset[type[Pass]]) -> str:
    """Kinds of pass in words."""
    return " and ".join(sorted(_KINDS[kind] for kind in kinds))
