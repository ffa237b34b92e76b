"""What commands share: options that several of them have, and a warning."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import arithmetic_names, executor_names
from gpgpu_legacy.cli.options import Option, Several

if TYPE_CHECKING:
    from gpgpu_legacy.runtime.machine import Machine


def warn_if_busy(share: float | None) -> None:
    """A line on stderr where other processes used much of the machine during a measurement.

    share: the part of the processors' time that they used, from 0 to 1; None if unknown.
    """
    from gpgpu_legacy.measure.other_work import busy_warning

    warning = busy_warning(share)
    if warning is not None:
        print(f"gpgpu-legacy: {warning}", file=sys.stderr)


PAPER_SIZE, PAPER_BLOCK = 1024, 32  # the example of Hall, Carr & Hart's Section 5.3
QUICK_SIZE = 256  # for what computes or simulates a product: any executor answers within seconds
ROUNDS, BUDGET_S = 5, 60.0  # of measurements; a test compares them with those of measure/

# The names of isa/arithmetic.py, which imports NumPy; a test holds them to it.
ARITHMETICS = "fp32, fp24, fp16, fx12, rc9"


# Options that several commands have -----------------------------------------------------------

BLOCK_HELP = "The paper's b, the steps of the sum in one pass"
ExecutorName = Annotated[
    str, Option("NAME", "What runs it; see `gpgpu-legacy doctor`.", complete=executor_names)
]
CHIP_HELP = "See `gpgpu-legacy chips`."
CACHE_HELP = (
    "Size, ways, line and policy (lru, fifo, random, plru, random-plru), such as 8K,4way,64B or "
    "32K,fully,128B,fifo."
)
RASTER_HELP = "Raster order: scan, tiled:WxH (or WxH), morton, hilbert."
LAYOUT_HELP = "Layout of textures: linear, WxH blocks, morton, 6d, 6d:WxH,WxH."
IN_FLIGHT_HELP = (
    "Let so many fragments be in flight: each makes its first lookup, then each its second, lastly "
    "each its write."
)
SIZE_HELP = "Multiply N×N matrices"
MeasuredExecutors = Annotated[
    Several[str],
    Option(
        "NAME …",
        "See `gpgpu-legacy doctor` (default: all that work here but the reference).",
        complete=executor_names,
    ),
]
BenchBudget = Annotated[
    float,
    Option(
        "SECONDS", "Stop after this time, preparation included; the cheapest job runs in any case."
    ),
]
SimulationBudget = Annotated[
    float | None,
    Option(
        "SECONDS", "Stop after this time (default: no limit, since a simulation measures nothing)."
    ),
]
Seed = Annotated[int, Option("SEED", "Seed of the random matrices.")]


@dataclass(frozen=True)
class MachineOptions:
    """What runs a plan, and how it computes."""

    executor: ExecutorName = "auto"
    exact: Annotated[bool, Option("Give numpy's bits, or refuse.")] = False
    flush_denormals: Annotated[
        bool, Option("With --exact: accept a device that takes denormals for 0.")
    ] = False
    arithmetic: Annotated[
        str,
        Option(
            "NAME",
            f"Round every operation to this format: {ARITHMETICS}.",
            complete=arithmetic_names,
        ),
    ] = "fp32"

    def machine(self) -> Machine:
        """The options as a Machine; InputError for an unknown arithmetic."""
        from gpgpu_legacy.isa.arithmetic import find_arithmetic
        from gpgpu_legacy.runtime.machine import Machine

        arithmetic = find_arithmetic(self.arithmetic)
        return Machine(self.exact, arithmetic, denormals=not self.flush_denormals)
