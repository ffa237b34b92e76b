"""What preparing saves and what moving data costs, each beside a peer of the same run.

    python benchmarks/prepared.py [EXECUTOR …] > benchmarks/prepared-HERE.json

Three things, on every executor that works here or on those named:

- sorts: a bitonic sort of 65 536 numbers, 136 passes of one program that differ in program.local
  alone (tests/sorting.py). A whole run of the prepared plan is held against its own passes, and
  against a run that prepares the plan anew.
- cold: the same from a process's start to its end, with what is kept on disk; the second of two.
- moves: the operands of an n×n product up, and the product back, held against CuPy's copies of the
  same arrays where there is CuPy, else against NumPy's in memory.

Times are medians, in seconds, by the host's clock with the queue finished.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from sorting import in_order, shuffled, sort_plan  # from tests/

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.measure.platform import versions
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.registry import available, find_executor

try:
    import cupy
except ImportError:
    cupy = None

F32 = NDArray[np.float32]

RUNS = 9
SIZES = (1024, 4096)
METHODS = ("hall-carr-hart-multi", "larson-mcallister")


def seconds(call: Callable[[], object]) -> float:
    """The median of several calls, after one that is not counted."""
    call()
    times = []
    for _ in range(RUNS):
        started = perf_counter()
        call()
        times.append(perf_counter() - started)
    return median(times)


def sort(executor: Executor) -> dict[str, object]:
    """A sort prepared once, and prepared for every run."""
    plan, given = sort_plan(), {"values": shuffled()}
    wanted = in_order(given["values"])
    with executor.prepare(plan) as prepared:
        passes: list[float] = []

        def run() -> None:
            result = prepared.run(given)
            passes.append(result.timings.compute_s)
            assert np.array_equal(result.outputs["sorted"], wanted)

        whole = seconds(run)
    anew = seconds(lambda: executor.run(plan, given))
    computed = median(passes[1:])
    return {
        "executor": executor.name,
        "device": executor.device(),
        "prepare_s": prepared.prepare_s,
        "run_s": whole,
        "passes_s": computed,
        "run_over_passes": whole / computed,
        "prepared_anew_s": anew,
    }


_COLD = """
import sys
sys.path.insert(0, {tests!r})
from sorting import shuffled, sort_plan
from gpgpu_legacy.runtime.registry import find_executor
with find_executor({name!r}).prepare(sort_plan()) as prepared:
    prepared.run({{"values": shuffled()}})
"""


def cold(executor: Executor) -> dict[str, object]:
    """A process that imports, prepares, sorts and ends."""
    text = _COLD.format(tests=sys.path[0], name=executor.name)

    def process() -> None:
        subprocess.run([sys.executable, "-c", text], check=True)

    return {"executor": executor.name, "process_s": seconds(process)}


def copies(arrays: list[F32]) -> tuple[str, float, float]:
    """The peer: its name, and the seconds of two arrays up and one back."""
    a, b = arrays
    if cupy is None:
        there = [np.empty_like(a), np.empty_like(b)]
        return (
            f"NumPy {np.__version__}, copies in memory",
            seconds(lambda: [np.copyto(x, y) for x, y in zip(there, arrays, strict=True)]),
            seconds(a.copy),
        )
    finish = cupy.cuda.Device().synchronize
    on_device = cupy.asarray(a)

    def up() -> None:
        _ = [cupy.asarray(a), cupy.asarray(b)]
        finish()

    return f"CuPy {cupy.__version__}", seconds(up), seconds(lambda: cupy.asnumpy(on_device))


def without_passes(plan: Plan) -> Plan:
    """The plan's transfers alone."""
    shown = {output.texture for output in plan.outputs}
    textures = tuple(
        replace(t, initial=(0.0,) * 4) if t.name in shown else t for t in plan.textures
    )
    used = shown | {each.texture for each in plan.inputs}
    return replace(plan, steps=(), textures=tuple(t for t in textures if t.name in used))


def moves(executor: Executor, name: str, size: int, peer: tuple[str, float, float]) -> object:
    """The transfers of a product, beside the peer's."""
    method = find_method(name)
    plan = without_passes(method.plan(Shape(size, size, size), method.options(Options())))
    a, b = operands(size)
    with executor.prepare(plan) as prepared:
        prepared.run({"A": a, "B": b})
        timings = [prepared.run({"A": a, "B": b}).timings for _ in range(RUNS)]
    up, back = (median(t.upload_s for t in timings), median(t.readback_s for t in timings))
    peer_name, peer_up, peer_back = peer
    return {
        "executor": executor.name,
        "method": name,
        "size": size,
        "upload_s": up,
        "readback_s": back,
        "peer": peer_name,
        "peer_upload_s": peer_up,
        "peer_readback_s": peer_back,
        "ratio": (up + back) / (peer_up + peer_back),
    }


def operands(size: int) -> list[F32]:
    """Two random matrices."""
    rng = np.random.default_rng(0)
    return [rng.random((size, size), np.float32) for _ in range(2)]


def main(names: list[str]) -> None:
    """Measure, and print the results as JSON."""
    executors = [find_executor(name) for name in names] or available()
    peers = {size: copies(operands(size)) for size in SIZES}
    results = {
        "versions": versions(),
        "sorts": [sort(executor) for executor in executors],
        "cold": [cold(executor) for executor in executors],
        "moves": [
            moves(executor, name, size, peers[size])
            for size in SIZES
            for name in METHODS
            for executor in executors
        ],
    }
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
