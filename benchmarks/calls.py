"""Whole calls, small passes and many cores: `jit` beside its own computing and beside peers.

    python benchmarks/calls.py [ROW …] > benchmarks/calls-HERE.json

- whole: a whole call of `matmul` over the passes of the same plan.
- numpy: NumPy's `a @ b` over a whole call of `matmul`, as speed.
- sort: 65 536 numbers on all cores over two, each in a process of its own.
- bodies: an N-body recipe of 64, 128 and 256 bodies; each over the one before.
- offsets: a recipe of 2 000 passes whose offsets differ, from a process's start to its end, with
  nothing cached on disk.
- linear: lookups between texels (recipes/user_programs.py), the driver's own ARBfp over jit.
- raster: multichannel at n = 1024 where OpenGL runs on the CPU, the driver's own over gl-raster.

Calls that are compared run in turn. After a pause, in which other calls' threads fall asleep, those
of one kind run in a row, the first of them unmeasured. Times are medians, in seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent / "recipes"))

from n_body import n_body  # from benchmarks/recipes/
from sorting import shuffled, sort_plan  # from tests/
from turns import Sample, medians_in_turn, print_result  # from benchmarks/
from user_programs import filtered  # from benchmarks/recipes/

from gpgpu_legacy import Pipeline, matmul
from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT, find_product
from gpgpu_legacy.measure.timing import OtherWork, versions
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.devices import processor, thread_count
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.serial import Record, Recorded, provenance

ROUNDS, IN_A_ROW, PAUSE_S = 7, 5, 0.06
PASSES = 2000
MULTICHANNEL = "hall-carr-hart-multi"


class Row(Record, frozen=True, kw_only=True):
    """Two times, and the first over the second. asked: the bound to meet, in words."""

    row: str
    size: int
    first: str
    first_s: float
    second: str
    second_s: float
    ratio: float
    asked: str


class CallsBenchmark(Recorded, frozen=True, kw_only=True):
    """All rows. busy_share: other processes' share of the processors' time, from 0 to 1."""

    versions: dict[str, str]
    device: str
    threads: int
    rows: tuple[Row, ...]
    busy_share: float | None = None


def ratio(row: str, size: int, samples: Mapping[str, Sample], asked: str) -> Row:
    """Two kinds of calls in turn."""
    return of_times(row, size, medians_in_turn(samples, ROUNDS), asked)


def of_times(row: str, size: int, seconds: Mapping[str, float], asked: str) -> Row:
    """The ratio of two times."""
    (first, first_s), (second, second_s) = seconds.items()
    return Row(
        row=row, size=size, first=first, first_s=first_s, second=second, second_s=second_s,
        ratio=first_s / second_s, asked=asked,
    )  # fmt: skip


def in_a_row(call: Callable[[], object]) -> Sample:
    """The median of calls in a row. If a call gives a float, that is its seconds."""

    def sample() -> float:
        sleep(PAUSE_S)
        taken = []
        for _ in range(1 + IN_A_ROW):
            started = perf_counter()
            given = call()
            taken.append(given if isinstance(given, float) else perf_counter() - started)
        return median(taken[1:])

    return sample


def random_operands(plan: Plan) -> dict[str, NDArray[np.float32]]:
    """A plan's operands, with numbers from 0 to 1."""
    rng = np.random.default_rng(0)
    return {m.name: rng.random((m.rows, m.columns), np.float32) for m in plan.operands}


def passes_of(plan: Plan, executor: str) -> Sample:
    """The computing of a plan that is prepared once."""
    prepared, given = find_executor(executor).prepare(plan), random_operands(plan)
    return in_a_row(lambda: prepared.run(given).timings.compute_s)


def whole() -> Iterator[Row]:
    """Whole calls of matmul over their own passes."""
    for n in (512, 1024, 2048):
        plan = find_product(DEFAULT_PRODUCT).plan(n=n)
        a, b = random_operands(plan).values()
        calls = {
            "whole call": in_a_row(lambda a=a, b=b: matmul(a, b, executor="jit")),
            "computing": passes_of(plan, "jit"),
        }
        yield ratio("whole", n, calls, "at most 1.2")


def numpy_calls() -> Iterator[Row]:
    """NumPy over matmul."""
    for n, asked in ((256, 0.45), (512, 0.85), (1024, 0.92), (2048, 0.95)):
        a, b = random_operands(find_product(DEFAULT_PRODUCT).plan(n=n)).values()
        calls = {
            "a @ b": in_a_row(lambda a=a, b=b: a @ b),
            "whole call": in_a_row(lambda a=a, b=b: matmul(a, b, executor="jit")),
        }
        yield ratio("numpy", n, calls, f"at least {asked}")


def sort() -> Iterator[Row]:
    """A sort on all cores over the same on two."""
    cores = sorted(os.sched_getaffinity(0))

    def on(count: int) -> Sample:
        words = [sys.executable, __file__, "--sort", ",".join(map(str, cores[:count]))]
        return lambda: float(subprocess.check_output(words, text=True))

    calls = {f"{count} cores": on(count) for count in (len(cores), 2)}
    if len(calls) == 1:
        return
    yield ratio("sort", 65536, calls, "at most 1")


def sort_here(cores: str) -> float:
    """The seconds of a sort's passes on some cores. cores: their numbers, with commas between."""
    os.sched_setaffinity(0, set(map(int, cores.split(","))))
    with find_executor("jit").prepare(sort_plan()) as prepared:
        return in_a_row(lambda: prepared.run({"values": shuffled()}).timings.compute_s)()


def bodies() -> Iterator[Row]:
    """Each number of bodies over the one before."""
    samples = {f"{n} bodies": passes_of(n_body(n).plan(), "jit") for n in (64, 128, 256)}
    seconds = medians_in_turn(samples, ROUNDS)
    for fewer, more in ((64, 128), (128, 256)):
        pair = {f"{n} bodies": seconds[f"{n} bodies"] for n in (more, fewer)}
        yield of_times("bodies", more, pair, "at least 1")


_FLOOD = """!!ARBfp1.0
TEMP at, best, other;
TEX best, fragment.texcoord[0], texture[0], RECT;
{looks}
MUL result.color, best, 0.999;
END
"""
_LOOK = """MAD at, program.local[0], {{ {x}, {y}, 0, 0 }}, fragment.texcoord[0];
TEX other, at, texture[0], RECT;
MAX best, best, other;"""


def flood(n: int, passes: int) -> Pipeline:
    """The largest of a texel and of eight others at offsets that differ from pass to pass."""
    around = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y]
    text = _FLOOD.format(looks="\n".join(_LOOK.format(x=x, y=y) for x, y in around))
    p = Pipeline("flood")
    now, then = p.input("seeds", n, n), p.texture("then", n, n)
    for x, y in np.random.default_rng(0).integers(1, n // 2, (passes, 2)).tolist():
        p.draw(text, {0: now}, into=then, local={0: (x, y, 0, 0)})
        p.swap(now, then)
    p.output("flooded", now)
    return p


def offsets() -> Iterator[Row]:
    """All passes over a hundredth of them, each in a process that finds no code on disk."""

    def cold(passes: int) -> float:
        with TemporaryDirectory() as folder:
            started = perf_counter()
            words = [sys.executable, __file__, "--flood", str(passes)]
            subprocess.run(words, check=True, env={**os.environ, "XDG_CACHE_HOME": folder})
            return perf_counter() - started

    seconds = {f"{passes} passes": cold(passes) for passes in (PASSES, PASSES // 100)}
    yield of_times("offsets", PASSES, seconds, "20 s")


def flood_here(passes: str) -> None:
    """Run a flood of so many passes once."""
    plan = flood(64, int(passes)).plan()
    find_executor("jit").run(plan, random_operands(plan))


def linear() -> Iterator[Row]:
    """The driver's own program over jit's."""
    plan = filtered(1024).plan()
    calls = {name: passes_of(plan, name) for name in ("gl-arbfp", "jit")}
    yield ratio("linear", 1024, calls, "at least 2")


def raster() -> Iterator[Row]:
    """The driver's own program over gl-raster's."""
    plan = find_product(MULTICHANNEL).plan(n=1024)
    calls = {name: passes_of(plan, name) for name in ("gl-arbfp", "gl-raster")}
    yield ratio("raster", 1024, calls, "at least 0.95")


ROWS = {
    "whole": whole, "numpy": numpy_calls, "sort": sort, "bodies": bodies, "offsets": offsets,
    "linear": linear, "raster": raster,
}  # fmt: skip


def main(names: list[str]) -> None:
    """Measure, print rows as they come, and the results as JSON."""
    other_work, rows = OtherWork(), list[Row]()
    for name in names or ROWS:
        for row in ROWS[name]():
            rows.append(row)
            times = ", ".join(
                f"{what} {1e3 * seconds:.4g} ms"
                for what, seconds in ((row.first, row.first_s), (row.second, row.second_s))
            )
            print(f"{name} {row.size}: {times}: {row.ratio:.3g} ({row.asked})", file=sys.stderr)
    result = CallsBenchmark(
        **provenance(),
        versions=versions(),
        device=processor(),
        threads=thread_count(),
        rows=tuple(rows),
        busy_share=other_work.share(),
    )
    print_result(result, result.busy_share)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--sort", cores]:
            print(sort_here(cores))
        case ["--flood", passes]:
            flood_here(passes)
        case names:
            main(names)
