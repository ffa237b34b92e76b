"""The cache simulator against a cache in plain Python, and against cases worked by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from cache_conventions import in_order
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pseudo_lru import PlainTrees, Random

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import NO_ACCESS, AccessTrace, Chunk, MemoryRegion, PassTrace, Step
from gpgpu_legacy.cache.caches import Cache, Memory, Policy, parse_cache
from gpgpu_legacy.cache.fragments import trace_fragments
from gpgpu_legacy.cache.simulate import LevelTally, Simulated, simulate
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.timing import BudgetSpentError

GRANULE = 16
REGION = 4096
ELEMENTS = (4, 16, 8)
RANDOM = (Policy.RANDOM, Policy.RANDOM_PLRU)
REGIONS = tuple(
    MemoryRegion(name, number * REGION, REGION, ELEMENTS[number])
    for number, name in enumerate("abc")
)

# A cache in plain Python -------------------------------------------------------------------------


class Plain:
    """A list of [line, dirty] a set, the line that goes next last; written from the definitions."""

    def __init__(self, cache: Cache, seed: int) -> None:
        self.cache = cache
        self.sets: list[list[list[int]]] = [[] for _ in range(cache.sets)]
        self.random = Random(seed)

    def look(self, line: int, *, fill: bool, dirty: bool) -> tuple[bool, list[int] | None]:
        """Whether it hit, and the line that was put out."""
        lines = self.sets[line % self.cache.sets]
        for each in lines:
            if each[0] == line:
                each[1] |= dirty
                if self.cache.policy is Policy.LRU:
                    lines.remove(each)
                    lines.insert(0, each)
                return True, None
        if not fill:
            return False, None
        if self.cache.policy is Policy.RANDOM:
            return False, self.replace_any(lines, [line, int(dirty)])
        victim = lines.pop() if len(lines) == self.cache.ways else None
        lines.insert(0, [line, int(dirty)])
        return False, victim

    def replace_any(self, lines: list[list[int]], new: list[int]) -> list[int] | None:
        if len(lines) < self.cache.ways:
            lines.append(new)
            return None
        way = self.random.below(self.cache.ways)
        victim, lines[way] = lines[way], new
        return victim


def plain(cache: Cache, seed: int) -> Plain | PlainTrees:
    kind = PlainTrees if cache.policy in {Policy.PLRU, Policy.RANDOM_PLRU} else Plain
    return kind(cache, seed)


class PlainMemory:
    """Level 1 (one a region, or one), perhaps level 2, and counters by what they count."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        copies = len(REGIONS) if memory.per_texture else 1
        self.first = [plain(memory.levels[0], memory.seed) for _ in range(copies)]
        if memory.per_texture:  # they draw from one stream of random numbers
            assert memory.levels[0].policy not in RANDOM
        self.second = [plain(each, memory.seed + 1) for each in memory.levels[1:]]
        self.counts: Counter[tuple[str, int]] = Counter()
        self.hits: list[bool] = []

    def access(self, granule: int, kind: int) -> None:
        region, write = divmod(kind, 2)
        through = bool(write) and not self.memory.allocate
        first = self.first[region if self.memory.per_texture else 0]
        size = first.cache.line_bytes
        line = granule * GRANULE // size
        hit, victim = first.look(line, fill=not through, dirty=bool(write) and not through)
        self.hits.append(hit)
        self.counts["write hit" if write else "read hit", region] += hit
        self.counts["write" if write else "read", region] += 1
        if through:
            self.counts["through", region] += 1
        if self.second and (through or not hit):
            self.below(line * size, region, fill=not through, dirty=False)
        elif not through and not hit:
            self.counts["fill", region] += 1
        if victim is not None and victim[1]:
            owner = victim[0] * size // REGION
            if self.second:
                self.below(victim[0] * size, owner, fill=True, dirty=True)
            else:
                self.counts["back", owner] += 1

    def below(self, address: int, region: int, *, fill: bool, dirty: bool) -> None:
        [second] = self.second
        size = second.cache.line_bytes
        hit, victim = second.look(address // size, fill=fill, dirty=dirty)
        self.counts["hit 2" if hit else "miss 2", 0] += 1
        if fill and not hit:
            self.counts["fill", region] += 1
        if victim is not None and victim[1]:
            self.counts["back", victim[0] * size // REGION] += 1

    def dirty_at_end(self) -> Counter[int]:
        size = self.memory.levels[-1].line_bytes
        addresses = {
            line * each.cache.line_bytes // size * size
            for each in [*self.first, *self.second]
            for lines in each.sets
            for line, dirty in lines
            if dirty
        }
        return Counter(address // REGION for address in addresses)


def expanded(chunks: Sequence[Chunk]) -> Iterator[tuple[int, int]]:
    for chunk in chunks:
        yield from in_order(chunk)


def check(result: Simulated, chunks: Sequence[Chunk], memory: Memory) -> None:
    """Every number of a result against the plain cache's."""
    own = PlainMemory(memory)
    for line, kind in expanded(chunks):
        own.access(line, kind)
    counts, dirty = own.counts, own.dirty_at_end()
    size = memory.levels[-1].line_bytes
    for number, (region, tally) in enumerate(zip(REGIONS, result.regions, strict=True)):
        reads, writes = counts["read", number], counts["write", number]
        assert (tally.reads, tally.writes) == (reads, writes)
        assert tally.read_hits == counts["read hit", number]
        assert tally.write_hits == counts["write hit", number]
        assert tally.bytes_requested == (reads + writes) * region.element_bytes
        assert tally.bytes_from_memory == counts["fill", number] * size
        assert tally.bytes_to_memory == (
            counts["through", number] * region.element_bytes
            + (counts["back", number] + dirty[number]) * size
        )
    hits = sum(own.hits)
    levels = [LevelTally(hits, len(own.hits) - hits)]
    if len(memory.levels) == 2:
        levels.append(LevelTally(counts["hit 2", 0], counts["miss 2", 0]))
    assert result.levels == tuple(levels)
    assert (result.accesses, result.hits) == (len(own.hits), hits)
    assert result.misses == result.accesses - result.hits


# Traces ------------------------------------------------------------------------------------------


def chunk(
    lines: Sequence[Sequence[int]], kinds: Sequence[int], times: Sequence[int] | None = None
) -> Chunk:
    counts = [1] * len(lines) if times is None else times
    table = np.array(lines, np.int64).reshape(len(lines), len(kinds))
    return Chunk(table, np.array(kinds, np.int16), np.array(counts, np.int32))


def pass_trace(chunks: Sequence[Chunk]) -> PassTrace:
    return PassTrace(sum(1 for _ in expanded(chunks)), lambda: iter(chunks))


def trace(*steps: Step) -> AccessTrace:
    return AccessTrace("trace", REGIONS, steps, GRANULE)


def once(*chunks: Chunk) -> AccessTrace:
    return trace(Step(1, lambda _: (pass_trace(chunks),)))


def reads(*lines: int) -> AccessTrace:
    return once(chunk([[line] for line in lines], [0]))


@st.composite
def chunks_of(draw: st.DrawFn) -> Chunk:
    """Rows over few lines of each region, some absent, some rows equal to the one before."""
    slots = draw(st.integers(1, 28))
    kinds = draw(st.lists(st.integers(0, 5), min_size=slots, max_size=slots))
    span = draw(st.sampled_from([3, 12, 100]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows = draw(st.integers(0, 40))
    lines = rng.integers(0, span, (rows, slots)) + np.array(kinds) // 2 * (REGION // GRANULE)
    lines[rng.random(lines.shape) < draw(st.sampled_from([0, 0.2]))] = NO_ACCESS
    for row in range(1, rows):
        if rng.random() < 0.3:
            lines[row] = lines[row - 1]
    times = rng.integers(1, 6, rows)
    return chunk(lines.tolist(), kinds, times.tolist())


@st.composite
def caches(draw: st.DrawFn, *, shortest: int = GRANULE, random: bool = True) -> Cache:
    policies = [policy for policy in Policy if random or policy not in RANDOM]
    line = draw(st.sampled_from([16, 32, 64]).filter(lambda size: size >= shortest))
    ways = draw(st.sampled_from([1, 2, 3, 4, 8, 12, 24, 40]))
    sets = draw(st.sampled_from([1, 2, 3, 4, 5, 8] if ways <= 8 else [1, 2, 3]))
    return Cache(sets * ways * line, ways, line, draw(st.sampled_from(policies)))


@st.composite
def memories(draw: st.DrawFn, *, random: bool = True) -> Memory:
    per_texture = draw(st.booleans())
    levels = [draw(caches(random=random and not per_texture))]
    if draw(st.booleans()):
        levels.append(draw(caches(shortest=levels[0].line_bytes, random=random)))
    seed = draw(st.integers(0, 1000))
    return Memory(tuple(levels), per_texture, draw(st.booleans()), seed)


@settings(max_examples=100)
@given(memories(), st.lists(chunks_of(), max_size=3))
def test_any_trace_through_any_memory_is_that_of_plain_caches(
    memory: Memory, chunks: list[Chunk]
) -> None:
    check(simulate(once(*chunks), memory), chunks, memory)


@settings(max_examples=100)
@given(memories(), st.lists(chunks_of(), max_size=2))
def test_the_map_has_a_one_where_an_access_hits(memory: Memory, chunks: list[Chunk]) -> None:
    found: list[int] = []

    def note(_: PassTrace, each: Chunk, hits: NDArray[np.uint8]) -> None:
        assert hits.dtype == np.uint8
        assert hits.shape == each.lines.shape
        assert not hits[each.lines < 0].any()
        found.extend(hit for hit, _ in in_order(each, hits))

    result = simulate(once(*chunks), memory, misses=note)
    own = PlainMemory(memory)
    for line, kind in expanded(chunks):
        own.access(line, kind)
    assert found == own.hits
    check(result, chunks, memory)


# By hand -----------------------------------------------------------------------------------------

TWO_WAYS = Cache(32, 2, 16)


FOUR_WAYS = Cache(64, 4, 16, Policy.PLRU)


@given(st.lists(st.integers(0, 6), max_size=60))
def test_four_ways_of_pseudo_lru_follow_the_table_of_the_time(lines: list[int]) -> None:
    """Bits and rules as in people.cs.clemson.edu/~mark/464/p_lru.txt, which cites an Intel manual.

    A bit is 1 where the left side was used last. The four ways are filled first.
    """
    replaced = {(0, 0): 0, (0, 1): 1, (1, 0): 2, (1, 1): 3}
    after = {0: (1, 1, None), 1: (1, 0, None), 2: (0, None, 1), 3: (0, None, 0)}
    held: list[int | None] = [None] * 4
    bits = [0, 0, 0]
    hits = 0
    for line in (10, 11, 12, 13, *lines):
        hits += line in held
        way = held.index(line) if line in held else replaced[bits[0], bits[1 + bits[0]]]
        held[way] = line
        bits = [old if new is None else new for old, new in zip(bits, after[way], strict=True)]
    assert simulate(reads(10, 11, 12, 13, *lines), Memory((FOUR_WAYS,))).hits == hits


def test_a_trace_with_longer_lines_than_the_cache_is_refused() -> None:
    with pytest.raises(InputError, match="8 bytes is shorter than the trace's lines of 16"):
        simulate(reads(0), Memory((Cache(64, 2, 8),)))


# Iterations --------------------------------------------------------------------------------------


def moved(each: Chunk, granules: dict[int, int]) -> Chunk:
    steps = np.array([granules.get(kind // 2, 0) for kind in each.kinds.tolist()], np.int64)
    lines = np.where(each.lines < 0, NO_ACCESS, each.lines + steps)
    return replace(each, lines=lines)


def shifting(each: Chunk, count: int, granules: dict[int, int]) -> tuple[Step, list[Chunk]]:
    """A step whose iteration i is the chunk with each region moved i times, and all its chunks."""
    touched = {kind // 2 for kind in each.kinds.tolist()}
    iterations = [moved(each, {n: i * by for n, by in granules.items()}) for i in range(count)]
    step = Step(
        count,
        lambda iteration: (pass_trace([iterations[iteration]]),),
        lambda iteration: {n: granules.get(n, 0) * iteration * GRANULE for n in touched},
    )
    return step, iterations


@settings(max_examples=40)
@given(
    memories(),
    chunks_of(),
    st.lists(chunks_of(), max_size=1),
    st.integers(1, 24),
    st.tuples(*[st.sampled_from([0, 0, 1, 2, 4, 6])] * 3),
)
def test_multiplied_turns_are_turns_carried_out(
    memory: Memory, each: Chunk, before: list[Chunk], count: int, moves: tuple[int, ...]
) -> None:
    step, iterations = shifting(each, count, dict(enumerate(moves)))
    whole = trace(
        Step(1, lambda _: (pass_trace(before),)), step, Step(1, lambda _: (pass_trace(before),))
    )
    result = simulate(whole, memory)
    check(result, [*before, *iterations, *before], memory)
    every = simulate(whole, memory, every_pass=True)
    assert every.regions == result.regions
    assert every.levels == result.levels
    assert (every.iterations, every.iterations_simulated, every.iterations_repeated) == (
        count + 2,
        count + 2,
        0,
    )
    assert result.iterations == result.iterations_simulated + result.iterations_repeated


def test_a_columns_walk_is_proven_to_repeat_line_by_line() -> None:
    """Sixteen columns of floats lie in a line, so that sixteen passes are a period."""
    plan = find_product("larson-mcallister").plan(n=96)
    made = trace_fragments(plan)
    own = Memory((parse_cache("1K,2way,64B"),), per_texture=True)
    result, every = simulate(made, own), simulate(made, own, every_pass=True)
    assert result.iterations_repeated == 3 * 16  # the caches are full after as many
    assert result.regions == every.regions


def test_turns_that_repeat_are_not_carried_out() -> None:
    each = chunk([[0, 256], [1, 257], [0, 300]], [0, 3])
    step, iterations = shifting(each, 50, {0: 0, 1: 2})
    asked: list[int] = []

    def passes(number: int) -> tuple[PassTrace, ...]:
        asked.append(number)
        return step.passes(number)

    own = Memory((Cache(64, 2, 16),), per_texture=True)
    result = simulate(trace(replace(step, passes=passes)), own)
    assert result.iterations_repeated > 40
    assert len(set(asked)) < 10
    check(result, iterations, own)
    # In one cache of two sets, moves of 0 and 2 lines leave sets where they are.
    assert simulate(trace(step), replace(own, per_texture=False)).iterations_repeated > 40


@pytest.mark.parametrize(("memory", "period"), [((256, 2, 64), 4), ((128, 2, 16), 1)])
def test_a_period_must_move_whole_lines(memory: tuple[int, int, int], period: int) -> None:
    """A granule to the right each iteration: a line in four of them, or a set in each."""
    each = chunk([[0], [5]], [0])
    step, iterations = shifting(each, 40, {0: 1})
    caches = Memory((Cache(*memory),))
    result = simulate(trace(step), caches)
    assert 0 < result.iterations_repeated <= 36
    assert result.iterations_repeated % period == 0
    check(result, iterations, caches)


def test_a_line_across_two_regions_cannot_be_moved() -> None:
    step, _ = shifting(chunk([[0], [1]], [0]), 20, {0: 0})
    long = Memory((Cache(2 * REGION, 1, 2 * REGION),))
    assert simulate(trace(step), long).iterations_repeated == 0


# Progress ----------------------------------------------------------------------------------------


def test_progress_may_stop_a_simulation() -> None:
    step, _ = shifting(chunk([[0], [1]], [0]), 8, {0: 0})
    seen: list[float] = []

    def stop(done: float) -> None:
        seen.append(done)
        if done >= 0.5:
            raise BudgetSpentError("the budget was spent")

    with pytest.raises(BudgetSpentError):
        simulate(trace(step), Memory((TWO_WAYS,)), every_pass=True, progress=stop)
    assert seen == [0.125, 0.25, 0.375, 0.5]


# How caches are written --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cache"),
    [
        ("64B, fifo, 8k, 4-way", Cache(8192, 4, 64, Policy.FIFO)),
        ("1000,direct,8B,random", Cache(1000, 1, 8, Policy.RANDOM)),
        ("32K,fully,128B,lru", Cache(32768, 256, 128)),
        ("3M,12way,64B,random-plru", Cache(3 << 20, 12, 64, Policy.RANDOM_PLRU)),
    ],
)
def test_a_cache_is_read_and_written(text: str, cache: Cache) -> None:
    assert parse_cache(text) == cache
    assert parse_cache(str(cache)) == cache


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("8K,4way", "has no line"),
        ("8K,16K,4way,64B", "the size is given twice"),
        ("8K,4way,64B,mru", '"mru" is not a size, ways, a line or a policy'),
        ("8K,4way,48B", "power of two"),
        ("8K,3way,64B", "make the size a multiple of 192"),
        ("32,fully,64B", "does not divide into sets"),
    ],
)
def test_what_is_wrong_with_a_cache_is_said(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_cache(text)


def test_levels_are_one_or_two_and_the_second_has_lines_as_long() -> None:
    with pytest.raises(InputError, match="3 levels"):
        Memory((TWO_WAYS,) * 3)
    with pytest.raises(InputError, match="level 2 has lines of 16 bytes, level 1 of 64"):
        Memory((Cache(256, 2, 64), TWO_WAYS))
