"""Stack distances against a list in plain Python, and against the simulator at every size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cache_simulate import (
    GRANULE,
    chunk,
    chunks_of,
    expanded,
    once,
    pass_trace,
    reads,
    trace,
)

from gpgpu_legacy.cache.caches import Cache, Memory
from gpgpu_legacy.cache.distances import Distances, stack_distances
from gpgpu_legacy.cache.simulate import simulate
from gpgpu_legacy.cache.trace import NO_ACCESS, AccessTrace, Chunk, MemoryRegion, PassTrace, Step
from gpgpu_legacy.errors import InputError


def turns(chunks: Sequence[Chunk], count: int = 1) -> AccessTrace:
    return trace(Step(count, lambda _: (pass_trace(chunks),)))


def by_hand(lines: Sequence[int]) -> tuple[Counter[int], int]:
    """How many accesses have each distance, and the cold ones: a list, the last one first."""
    stack: list[int] = []
    found: Counter[int] = Counter()
    cold = 0
    for line in lines:
        if line in stack:
            found[stack.index(line) + 1] += 1
            stack.remove(line)
        else:
            cold += 1
        stack.insert(0, line)
    return found, cold


def counted(distances: Distances) -> Counter[int]:
    return Counter({d: int(n) for d, n in enumerate(distances.histogram) if n})


def written_out(chunks: Sequence[Chunk]) -> list[int]:
    return [line for line, _ in expanded(chunks)]


@settings(max_examples=60)
@given(st.lists(chunks_of(), max_size=3))
def test_distances_are_places_in_the_list(chunks: list[Chunk]) -> None:
    found = stack_distances(turns(chunks))
    lines = written_out(chunks)
    assert (counted(found), found.cold) == by_hand(lines)
    assert found.accesses == len(lines)


@settings(max_examples=15)
@given(st.lists(chunks_of(), min_size=1, max_size=2))
def test_the_curve_is_the_simulator_at_every_size(chunks: list[Chunk]) -> None:
    several = turns(chunks, 2)
    found = stack_distances(several)
    sizes, misses = found.curve()
    for lines in range(1, len(set(written_out(chunks))) + 2):
        memory = Memory((Cache(lines * GRANULE, lines, GRANULE),), allocate=True)
        expected = simulate(several, memory).misses
        assert found.misses(lines) == expected
        assert misses[np.searchsorted(sizes, lines, side="right") - 1] == expected


def test_distances_by_hand() -> None:
    found = stack_distances(reads(0, 1, 2, 0, 0, 1))
    # 0 again after 1, 2 and itself: 3; then 1; then 1 after 2, 0 and itself: 3.
    assert counted(found) == {1: 1, 3: 2}
    assert found.cold == 3
    assert [found.misses(lines) for lines in (0, 1, 2, 3, 4, 10**9)] == [6, 5, 5, 3, 3, 3]
    sizes, misses = found.curve()
    assert (sizes.tolist(), misses.tolist()) == ([1, 3], [5, 3])


def test_times_that_run_out_are_given_anew() -> None:
    lines = np.random.default_rng(3).integers(0, 60, 5000).tolist()
    found = stack_distances(reads(*lines))
    assert (counted(found), found.cold) == by_hand(lines)


def test_a_row_longer_than_all_regions() -> None:
    lines = np.random.default_rng(4).integers(0, 9, (3, 6000)).tolist()
    each = chunk(lines, [0] * 6000, [1, 3, 2])
    found = stack_distances(once(each))
    assert (counted(found), found.cold) == by_hand(written_out([each]))


def test_far_distances_are_counted_over_blocks() -> None:
    wide = (MemoryRegion("w", 0, 16 * 20_000, 4),)
    lines = np.concatenate([np.arange(20_000), np.arange(20_000), [19_999, 0]])
    each = chunk(lines[:, None].tolist(), [0])
    pass_ = PassTrace(len(lines), lambda: iter([each]))
    found = stack_distances(AccessTrace("t", wide, (Step(1, lambda _: (pass_,)),), 16))
    assert found.cold == 20_000
    assert counted(found) == {20_000: 20_001, 1: 1}


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="none of its regions"):
        stack_distances(reads(10**6))


def test_progress_and_an_empty_trace() -> None:
    seen: list[float] = []
    found = stack_distances(turns([], 4), progress=seen.append)
    assert seen == [0.25, 0.5, 0.75, 1.0]
    assert (found.accesses, found.cold, found.misses(1)) == (0, 0, 0)
    sizes, misses = found.curve()
    assert (sizes.tolist(), misses.tolist()) == ([1], [0])


def test_progress_goes_on_within_a_turn() -> None:
    """A budget ends a curve where it reports, and one iteration may be most of a run."""
    seen: list[float] = []
    rows = [chunk([[0, 1]], [0, 0], [5]) for _ in range(4)]
    stack_distances(turns(rows, 2), progress=seen.append)
    assert seen == [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0]
    seen.clear()
    guarded = [chunk([[0, NO_ACCESS]], [0, 0]) for _ in range(4)]
    stack_distances(once(*guarded), progress=seen.append)
    assert seen == [0.5, 1.0]
