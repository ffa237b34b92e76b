"""Miss counts against pycachesim, an independent simulator in C; skipped where it is not installed.

It is no dependency, not even of the tests: `pip install pycachesim` where it is wanted. It counts
no hit or miss of a write that finds its line, and such a write is no use of it; so accesses that
allocate are given to it as loads, and writes are left out where they do not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cache.caches import Cache, Memory, Policy, parse_cache
from gpgpu_legacy.cache.run import plan_trace
from gpgpu_legacy.cache.simulate import simulate
from gpgpu_legacy.cache.trace import NO_ACCESS, Chunk, PassTrace, Region, Step, Trace

cachesim = pytest.importorskip("cachesim")

CACHES = ["1K,direct,64B", "2K,2way,64B", "8K,4way,64B", "8K,4way,64B,fifo", "4K,fully,64B"]


def chunks(trace: Trace) -> Iterator[Chunk]:
    for step in trace.steps:
        for iteration in range(step.count):
            for pass_ in step.passes(iteration):
                yield from pass_.chunks()


def addresses(trace: Trace, *, writes: bool) -> list[int]:
    """Every access, one after another: the first byte of its line."""
    found: list[int] = []
    for each in chunks(trace):
        chosen = (each.kinds & 1 == 0) | writes
        rows = np.repeat(each.lines[:, chosen], each.times, axis=0).ravel()
        found.extend((rows[rows != NO_ACCESS] * trace.line_bytes).tolist())
    return found


def reads_of(trace: Trace) -> Trace:
    """The trace without its writes."""

    def without(each: Chunk) -> Chunk:
        read = each.kinds & 1 == 0
        return Chunk(each.lines[:, read], each.kinds[read], each.times)

    kept = [without(each) for each in chunks(trace)]
    pass_ = PassTrace("reads", 0, lambda: iter(kept))
    step = Step(1, lambda _: (pass_,))
    return Trace(trace.name, trace.regions, (step,), trace.line_bytes)


def its_levels(levels: tuple[Cache, ...], loads: list[int]) -> list[tuple[int, int]]:
    """Hits and misses of each level, as pycachesim finds them."""
    memory = cachesim.MainMemory()
    made = []
    for number, cache in reversed(list(enumerate(levels))):
        name, policy = f"L{number + 1}", cache.policy.value.upper()
        below = {"store_to": made[0], "load_from": made[0]} if made else {}
        made.insert(
            0, cachesim.Cache(name, cache.sets, cache.ways, cache.line_bytes, policy, **below)
        )
    memory.load_to(made[-1])
    memory.store_from(made[-1])
    simulator = cachesim.CacheSimulator(made[0], memory)
    simulator.load(loads, length=1)
    statistics = list(simulator.stats())
    return [(each["HIT_count"], each["MISS_count"]) for each in statistics[: len(levels)]]


def compare(trace: Trace, levels: tuple[Cache, ...]) -> None:
    for whole, memory in (
        (trace, Memory(levels, allocate=True)),
        (reads_of(trace), Memory(levels)),
    ):
        loads = addresses(trace, writes=memory.allocate)
        result = simulate(whole, memory)
        ours = [(each.hits, each.misses) for each in result.levels]
        theirs = its_levels(levels, loads)
        assert ours[0] == theirs[0]
        assert result.accesses == len(loads)
        # A line that level 1 writes back and level 2 has is a use of it here, and none there.
        if not memory.allocate:
            assert ours == theirs


@pytest.mark.parametrize("policy", [Policy.LRU, Policy.FIFO])
@pytest.mark.parametrize("seed", range(6))
def test_random_traces(policy: Policy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    region = Region("a", 0, 1 << 20, 4)
    span = int(rng.choice([40, 300, 4000]))
    lines = rng.integers(0, span, (2000, 5))
    kinds = np.array([0, 0, 1, 0, 1], np.int16)
    each = Chunk(lines, kinds, rng.integers(1, 4, 2000).astype(np.int32))
    pass_ = PassTrace("random", 0, lambda: iter([each]))
    trace = Trace("random", (region,), (Step(1, lambda _: (pass_,)),), 64)
    # pycachesim's sets are a power of two.
    first, second = Cache(1 << 11, 2, 64, policy), Cache(1 << 14, 4, 64, policy)
    compare(trace, (first,))
    compare(trace, (second,))
    compare(trace, (first, second))
    compare(trace, (first, Cache(1 << 15, 8, 128, policy)))


@pytest.mark.parametrize("text", CACHES)
@pytest.mark.parametrize(
    "name",
    [
        "larson-mcallister",
        "hall-carr-hart-single",
        "hall-carr-hart-multi",
        "dobravec-bulic-shared",
    ],
)
def test_real_traces(name: str, text: str) -> None:
    trace = plan_trace(find_method(name).plan(Shape(32, 32, 32)), 64)
    compare(trace, (parse_cache(text),))
