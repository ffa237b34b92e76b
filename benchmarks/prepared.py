"""The gain of preparing plans and the cost of moving data, each beside a peer of the same run.

    python benchmarks/prepared.py [EXECUTOR …] > benchmarks/prepared-HERE.json

Four things, on every executor that works here or on those named:

- sorts: a bitonic sort of 65 536 numbers, 136 passes of one program that differ in program.local
  alone (tests/sorting.py). A whole run of the prepared plan is compared with its own passes, and
  with a run that prepares the plan anew.
- warm: the sort by a Request, which keeps plans prepared, from the second time on: with the plan of
  the first time, and with an equal one. Both are compared with the passes.
- cold: the sort from a process's start to its end, with the code that is cached on disk.
- moves: the operands of an n×n product up, and the product back, compared with CuPy's copies of the
  same arrays, or with NumPy's in memory where there is no CuPy.

Calls that are compared run in turn. Times are medians, in seconds, by the host's clock with the
queue finished.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from sorting import in_order, shuffled, sort_plan  # from tests/
from turns import medians_in_turn, print_result, timed  # from benchmarks/

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.run import Request
from gpgpu_legacy.measure.timing import OtherWork, versions
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor, available, find_executor
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE
from gpgpu_legacy.runtime.prepared import Timings
from gpgpu_legacy.serial import Record, Recorded, provenance

try:
    import cupy
except ImportError:
    cupy = None

F32 = NDArray[np.float32]

RUNS = 9
SIZES = (1024, 4096)
METHODS = ("hall-carr-hart-multi", "larson-mcallister")


class Sort(Record, frozen=True, kw_only=True):
    """A sort on an executor, in seconds: prepared once, and prepared for every run."""

    executor: str
    device: str
    prepare_s: float
    run_s: float
    passes_s: float
    run_over_passes: float
    prepared_anew_s: float


class Warm(Record, frozen=True, kw_only=True):
    """A Request's run of a plan that stayed prepared, in seconds. equal: of an equal plan."""

    executor: str
    run_s: float
    equal_run_s: float
    passes_s: float
    run_over_passes: float
    equal_run_over_passes: float


class Cold(Record, frozen=True, kw_only=True):
    """A process that imports, prepares, sorts and ends."""

    executor: str
    process_s: float


class Move(Record, frozen=True, kw_only=True):
    """The transfers of an n×n product, beside the peer's. ratio: of both together."""

    executor: str
    method: str
    size: int
    upload_s: float
    readback_s: float
    peer: str
    peer_upload_s: float
    peer_readback_s: float
    ratio: float


class PreparedBenchmark(Recorded, frozen=True, kw_only=True):
    """All measurements. busy_share: other processes' share of the processors' time, from 0 to 1."""

    versions: dict[str, str]
    sorts: tuple[Sort, ...]
    cold: tuple[Cold, ...]
    moves: tuple[Move, ...]
    warm: tuple[Warm, ...] = ()
    busy_share: float | None = None


def sort(executor: Executor) -> Sort:
    """A sort prepared once, in turn with one that is prepared for every run."""
    plan, given = sort_plan(), {"values": shuffled()}
    wanted = in_order(given["values"])
    with executor.prepare(plan) as prepared:
        passes: list[float] = []

        def run() -> None:
            result = prepared.run(given)
            passes.append(result.timings.compute_s)
            assert np.array_equal(result.outputs["sorted"], wanted)

        calls = {"whole": timed(run), "anew": timed(lambda: executor.run(plan, given))}
        seconds = medians_in_turn(calls, RUNS)
    computed = median(passes[1:])
    return Sort(
        executor=executor.name,
        device=executor.device(),
        prepare_s=prepared.prepare_s,
        run_s=seconds["whole"],
        passes_s=computed,
        run_over_passes=seconds["whole"] / computed,
        prepared_anew_s=seconds["anew"],
    )


def warm(executor: Executor) -> Warm:
    """Sorts by Requests, in turn of one plan and of an equal one."""
    plan, equal = sort_plan(tables=True), sort_plan(tables=True)
    given = {"values": shuffled()}
    wanted = in_order(given["values"])
    passes: list[float] = []

    def run(on: Plan) -> None:
        _, result = Request(on, given, executor.name, DEFAULT_MACHINE).run()
        passes.append(result.timings.compute_s)
        assert np.array_equal(result.outputs["sorted"], wanted)

    # The plan that was first prepared is the one that is kept, so the other is always an equal one.
    calls = {"same": timed(lambda: run(plan)), "equal": timed(lambda: run(equal))}
    seconds = medians_in_turn(calls, RUNS)
    computed = median(passes[len(calls) :])
    return Warm(
        executor=executor.name,
        run_s=seconds["same"],
        equal_run_s=seconds["equal"],
        passes_s=computed,
        run_over_passes=seconds["same"] / computed,
        equal_run_over_passes=seconds["equal"] / computed,
    )


_COLD = """
import sys
sys.path.insert(0, {tests!r})
from sorting import shuffled, sort_plan
from gpgpu_legacy.runtime.executor import find_executor
with find_executor({name!r}).prepare(sort_plan()) as prepared:
    prepared.run({{"values": shuffled()}})
"""


def cold(executor: Executor) -> Cold:
    """A sort in a process of its own, from its start to its end."""
    text = _COLD.format(tests=sys.path[0], name=executor.name)

    def process() -> None:
        subprocess.run([sys.executable, "-c", text], check=True)

    seconds = medians_in_turn({"process": timed(process)}, RUNS)
    return Cold(executor=executor.name, process_s=seconds["process"])


def peer_copies(arrays: list[F32]) -> tuple[str, dict[str, Callable[[], object]]]:
    """The peer: its name, and the calls that copy two arrays up and one back."""
    a, b = arrays
    if cupy is None:
        there = [np.empty_like(a), np.empty_like(b)]

        def copy() -> None:
            for target, array in zip(there, arrays, strict=True):
                np.copyto(target, array)

        return f"NumPy {np.__version__}, copies in memory", {"up": copy, "back": a.copy}
    finish = cupy.cuda.Device().synchronize
    on_device = cupy.asarray(a)

    def up() -> None:
        _ = [cupy.asarray(a), cupy.asarray(b)]
        finish()

    return f"CuPy {cupy.__version__}", {"up": up, "back": lambda: cupy.asnumpy(on_device)}


def without_passes(plan: Plan) -> Plan:
    """The plan's transfers alone."""
    shown = {output.texture for output in plan.outputs}
    textures = tuple(
        replace(t, initial=(0.0,) * 4) if t.name in shown else t for t in plan.textures
    )
    used = shown | {each.texture for each in plan.inputs}
    return replace(plan, steps=(), textures=tuple(t for t in textures if t.name in used))


def move(executor: Executor, name: str, size: int) -> Move:
    """The transfers of a product, in turn with the peer's."""
    plan = without_passes(find_product(name).plan(n=size))
    a, b = arrays = operands(size)
    peer, copies = peer_copies(arrays)
    with executor.prepare(plan) as prepared:
        timings: list[Timings] = []
        calls = {**copies, "own": lambda: timings.append(prepared.run({"A": a, "B": b}).timings)}
        seconds = medians_in_turn({key: timed(call) for key, call in calls.items()}, RUNS)
    up, back = (
        median(t.upload_s for t in timings[1:]), median(t.readback_s for t in timings[1:])
    )  # fmt: skip
    return Move(
        executor=executor.name,
        method=name,
        size=size,
        upload_s=up,
        readback_s=back,
        peer=peer,
        peer_upload_s=seconds["up"],
        peer_readback_s=seconds["back"],
        ratio=(up + back) / (seconds["up"] + seconds["back"]),
    )


def operands(size: int) -> list[F32]:
    """Two random matrices."""
    rng = np.random.default_rng(0)
    return [rng.random((size, size), np.float32) for _ in range(2)]


def main(names: list[str]) -> None:
    """Measure, and print the results as JSON."""
    other_work = OtherWork()
    executors = [find_executor(name) for name in names] or available()
    result = PreparedBenchmark(
        **provenance(),
        versions=versions(),
        sorts=tuple(sort(executor) for executor in executors),
        warm=tuple(warm(executor) for executor in executors),
        cold=tuple(cold(executor) for executor in executors),
        moves=tuple(
            move(executor, name, size)
            for size in SIZES
            for name in METHODS
            for executor in executors
        ),
        busy_share=other_work.share(),
    )
    print_result(result, result.busy_share)


if __name__ == "__main__":
    main(sys.argv[1:])
