"""Accesses per second that the cache simulator processes, beside pycachesim on the same trace.

    python benchmarks/cache_throughput.py [CACHE …] > benchmarks/cache-throughput.json

pycachesim (AGPL, in C) is not a dependency: `pip install pycachesim` for the comparison; without it
the ratios are null. It gets each trace as a list of addresses, writes as loads. Each simulator has
one thread, and they run in turn; times are medians of the thread's processor time. `rows` is a
trace as fragments make it, in which a repeated row appears once; in `accesses` every access appears
by itself.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from time import thread_time

import numpy as np
from turns import medians_in_turn, print_result, timed  # from benchmarks/

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import AccessTrace, Chunk, MemoryRegion, PassTrace, Step
from gpgpu_legacy.cache.caches import Cache, Memory, parse_cache
from gpgpu_legacy.cache.simulate import plan_trace, simulate
from gpgpu_legacy.measure.timing import OtherWork
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.serial import Record, Recorded, provenance

try:
    import cachesim
except ImportError:
    cachesim = None

LINE_BYTES = 64
MOST = 4_000_000  # accesses of a trace: pycachesim takes a list of Python's numbers
RUNS = 5
PLANS = (
    ("larson-mcallister", 128, None),
    ("hall-carr-hart-single", 128, 32),
    ("hall-carr-hart-multi", 256, 8),
    ("hall-carr-hart-multi", 256, 32),
)


def held(name: str, chunks: list[Chunk]) -> AccessTrace:
    """A trace of chunks that exist already, so that making them is not timed."""
    pass_ = PassTrace(0, lambda: iter(chunks))
    end = max(int(chunk.lines.max()) for chunk in chunks) + 1
    region = MemoryRegion(name, 0, end * LINE_BYTES, 4)
    return AccessTrace(name, (region,), (Step(1, lambda _: (pass_,)),), LINE_BYTES)


def of_plan(plan: Plan) -> list[Chunk]:
    """The first accesses of a plan, all in one region."""
    chunks, accesses = [], 0
    for step in plan_trace(plan, LINE_BYTES).steps:
        for iteration in range(step.count):
            for pass_ in step.passes(iteration):
                for each in pass_.chunks():
                    chunks.append(Chunk(each.lines, each.kinds & 1, each.times))
                    accesses += int(each.times.sum()) * len(each.kinds)
                    if accesses >= MOST:
                        return chunks
    return chunks


def random_lines(lines: int) -> list[Chunk]:
    """MOST accesses to lines at random."""
    rows = np.random.default_rng(0).integers(0, lines, (MOST, 1))
    return [Chunk(rows, np.zeros(1, np.int16), np.ones(MOST, np.int32))]


def written_out(chunks: list[Chunk]) -> list[Chunk]:
    """The same accesses, with every repeated row by itself."""
    return [
        Chunk(np.repeat(c.lines, c.times, axis=0), c.kinds, np.ones(int(c.times.sum()), np.int32))
        for c in chunks
    ]


def peer_call(cache: Cache, addresses: list[int]) -> Callable[[], object]:
    """A simulation of the same accesses by pycachesim."""
    memory = cachesim.MainMemory()
    policy = cache.policy.value.upper()
    level = cachesim.Cache("L1", cache.sets, cache.ways, cache.line_bytes, policy)
    memory.load_to(level)
    memory.store_from(level)
    simulator = cachesim.CacheSimulator(level, memory)
    return lambda: simulator.load(addresses, length=1)


class Row(Record, frozen=True, kw_only=True):
    """A trace through a cache: millions of accesses a second, and their ratio to the peer's."""

    cache: str
    trace: str
    accesses: int
    hit_ratio: float | None
    rows_m_per_s: float
    accesses_m_per_s: float
    pycachesim_m_per_s: float | None
    rows_ratio: float | None
    accesses_ratio: float | None


class Throughput(Recorded, frozen=True, kw_only=True):
    """All traces through all caches. busy_share: other processes' share of the processors' time."""

    device: str
    python: str
    rows: tuple[Row, ...]
    busy_share: float | None = None


def measured(cache: Cache, name: str, chunks: list[Chunk]) -> Row:
    """Measure a trace through a cache, in rounds of both simulators in turn."""
    memory = Memory((cache,))
    every = written_out(chunks)
    count = sum(chunk.lines.size for chunk in every)
    result = simulate(held(name, chunks), memory)
    calls: dict[str, Callable[[], object]] = {
        "rows": lambda: simulate(held(name, chunks), memory),
        "accesses": lambda: simulate(held(name, every), memory),
    }
    if cachesim is not None:
        lines = np.concatenate([chunk.lines.ravel() for chunk in every])
        calls["peer"] = peer_call(cache, (lines * LINE_BYTES).tolist())
    samples = {key: timed(call, thread_time) for key, call in calls.items()}
    seconds = medians_in_turn(samples, RUNS)
    peer = seconds.get("peer")
    return Row(
        cache=str(cache),
        trace=name,
        accesses=count,
        hit_ratio=result.hit_ratio,
        rows_m_per_s=count / seconds["rows"] / 1e6,
        accesses_m_per_s=count / seconds["accesses"] / 1e6,
        pycachesim_m_per_s=None if peer is None else count / peer / 1e6,
        rows_ratio=None if peer is None else peer / seconds["rows"],
        accesses_ratio=None if peer is None else peer / seconds["accesses"],
    )


def main() -> None:
    """Print every trace through every cache, as JSON."""
    other_work = OtherWork()
    caches = [parse_cache(text) for text in sys.argv[1:] or ("8K,4way,64B", "32K,8way,64B")]
    traces = {f"{n} lines at random": random_lines(n) for n in (256, 4096)}
    for name, size, block in PLANS:
        in_blocks = {} if block is None else {"block": block, "accumulate": "ping-pong"}
        what = f"{name}, n = {size}" + f", b = {block}" * bool(block)
        traces[what] = of_plan(find_product(name).plan(n=size, **in_blocks))
    rows = [measured(cache, name, chunks) for cache in caches for name, chunks in traces.items()]
    result = Throughput(
        **provenance(),
        device=processor_name(),
        python=platform.python_version(),
        rows=tuple(rows),
        busy_share=other_work.share(),
    )
    print_result(result, result.busy_share)


if __name__ == "__main__":
    main()
