"""The time that packing on the device and mapped memory save, beside the driver's copies.

    python benchmarks/transfers.py [SIZE …]

Products of prepared plans on gl-raster and gl-compute, from operands to results: once as on a GPU,
where shaders pack and threads copy to mapped memory, and once as on a software renderer, where the
host packs and the driver copies. Both run in turn. Times are medians in milliseconds: of the whole
call, of the way up, and of the way back.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from statistics import median

import numpy as np

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.gl import core
from gpgpu_legacy.runtime.gl.compute import GlComputePrepared
from gpgpu_legacy.runtime.gl.raster import GlRasterPrepared
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import Prepared, Timings

METHODS = ("hall-carr-hart-multi", "larson-mcallister")
SIZES = (256, 1024, 2048)
RUNS = 15


def prepared(plan: Plan) -> dict[str, Prepared]:
    """A plan on both executors in both ways, by name."""
    context, found = core.compute_context(), dict[str, Prepared]()
    for way, on_device in (("device", True), ("host", False)):
        found[f"gl-raster, {way}"] = GlRasterPrepared(context, plan, Machine(), on_device=on_device)
        found[f"gl-compute, {way}"] = GlComputePrepared(
            context, plan, Machine(), on_device=on_device
        )
    return found


def measure(method: str, size: int) -> None:
    """Print a line for each way of a product."""
    rng = np.random.default_rng(0)
    operands = {name: rng.random((size, size), np.float32) for name in "AB"}
    plans = prepared(find_product(method).plan(n=size))
    times: dict[str, list[Timings]] = {name: [] for name in plans}
    with ExitStack() as stack:
        for plan in plans.values():
            stack.enter_context(plan)
        for _ in range(RUNS + 1):
            for name, plan in plans.items():
                times[name].append(plan.run(operands).timings)
    for name, runs in times.items():
        parts = [(t.upload_s + t.compute_s + t.readback_s, t.upload_s, t.readback_s) for t in runs]
        whole, up, back = (1e3 * median(part) for part in zip(*parts[1:], strict=True))
        print(f"{method:22} {size:5} {name:20} {whole:9.2f} {up:9.2f} {back:9.2f}")


def main(sizes: list[int]) -> None:
    """Measure all."""
    print(core.compute_context().device_name)
    print(f"{'method':22} {'n':>5} {'executor':20} {'whole':>9} {'up':>9} {'back':>9}")
    for size in sizes or SIZES:
        for method in METHODS:
            measure(method, size)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]])
