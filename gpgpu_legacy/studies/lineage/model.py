"""The product by every method, in the order of history, on one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.operands import F32, random_operands
from gpgpu_legacy.algorithms.registry import methods
from gpgpu_legacy.api.products import Run, Sampling, run_method
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.runtime.registry import find_executor

REPEATS = 3
QUICK_SECONDS = 2.0  # a run longer than this is not repeated
_SAMPLING = Sampling(REPEATS, QUICK_SECONDS)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the device's own library reaches on the same product, in the same run."""

    name: str
    device: str
    gflops: float


@dataclass(frozen=True, slots=True)
class Step:
    """A method's place in the lineage. intensity: multiply-adds a byte that it asks for."""

    method: Method
    run: Run
    intensity: float
    ceiling: Ceiling

    @property
    def fraction(self) -> float | None:
        """Its GFLOPS as a part of the ceiling."""
        return None if self.run.gflops is None else self.run.gflops / self.ceiling.gflops


def lineage(
    size: int,
    seed: int = 0,
    executor: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> list[Step]:
    """Run every method on n×n matrices.

    executor: the one to run all of them on; `auto` chooses for each.
    A step's ceiling is of the machine that it ran on: NumPy's BLAS for a CPU, cuBLAS for an NVIDIA
    GPU where torch is installed, else NumPy's BLAS too.
    """
    shape = Shape(size, size, size)
    a, b = random_operands(shape, Options(texture_format=R32F.name), seed)
    host = host_ceiling(a, b)
    device = device_ceiling(a, b) or host
    steps = []
    for method in methods():
        if progress is not None:
            progress(method.name)
        done = run_method(method.name, Options(), (a, b), executor, _SAMPLING)
        on_gpu = find_executor(done.executor).is_hardware()
        intensity = shape.multiply_adds / done.counts.bytes_requested
        steps.append(Step(method, done, intensity, device if on_gpu else host))
    return steps


def _gflops(a: F32, b: F32, seconds: float) -> float:
    return 2e-9 * Shape(a.shape[0], a.shape[1], b.shape[1]).multiply_adds / seconds


def host_ceiling(a: F32, b: F32) -> Ceiling:
    """NumPy's own product, through the BLAS that it was built with."""
    _ = a @ b
    times = []
    for _ in range(REPEATS):
        started = perf_counter()
        np.matmul(a, b)
        times.append(perf_counter() - started)
    return Ceiling("NumPy's BLAS", processor_name(), _gflops(a, b, median(times)))


def device_ceiling(a: F32, b: F32) -> Ceiling | None:
    """What cuBLAS reaches without TF32, through torch; None where there is no torch or no GPU."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    first, second = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    times = []
    for _ in range(REPEATS + 2):
        torch.cuda.synchronize()
        started = perf_counter()
        torch.matmul(first, second)
        torch.cuda.synchronize()
        times.append(perf_counter() - started)
    return Ceiling(
        "cuBLAS sgemm, no TF32", torch.cuda.get_device_name(), _gflops(a, b, median(times[2:]))
    )


def lineage_as_json(size: int, steps: list[Step]) -> dict[str, Any]:
    """The lineage for other programs to read."""
    ceilings = {step.ceiling.name: step.ceiling for step in steps}
    return {
        "size": size,
        "ceilings": [
            {"name": c.name, "device": c.device, "gflops": c.gflops} for c in ceilings.values()
        ],
        "steps": [
            {
                "year": step.method.year,
                "method": step.method.name,
                "paper": step.method.paper,
                "lacked": step.method.lacked,
                "executor": step.run.executor,
                "device": step.run.device,
                "block": step.run.options.block,
                "multiply_adds_per_byte": step.intensity,
                "bytes_requested": step.run.counts.bytes_requested,
                "arithmetic": step.run.counts.arithmetic,
                "seconds": step.run.seconds.compute_s,
                "gflops": step.run.gflops,
                "ceiling": step.ceiling.name,
                "fraction_of_ceiling": step.fraction,
            }
            for step in steps
        ],
    }
