"""Fragments in flight, against plain Python that shares nothing with the simulator.

The accesses are written from the papers: Figure 1 of Hall, Carr & Hart 2003 for Larson &
McAllister's method, listing (5) for the single-channel product and (11) for the multichannel one.
Caches are lists of lines, the one to be evicted next last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cache.access import Access, parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.distances import stack_distances
from gpgpu_legacy.cache.fragments import trace_fragments
from gpgpu_legacy.cache.heat_map import heat_map
from gpgpu_legacy.cache.run import cache_run, operand_tallies
from gpgpu_legacy.cache.simulate import simulate
from gpgpu_legacy.cache.trace import Chunk, PassTrace, Region, Step, Trace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Plan

LM, SINGLE, MULTI = "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"
COPY, PING_PONG, BLEND = "copy", "ping-pong", "blend"

Place = tuple[int, int]
Touch = tuple[str, bool, int, int]
"""A texture, whether it is written, the column and the row of a texel."""
Unit = list[Place]
"""A fragment, or those of a quad."""


# The papers' accesses ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """An n×n product by a method; way: how partial sums are kept."""

    method: str
    n: int
    b: int = 1
    way: str = BLEND

    @property
    def side(self) -> int:
        """Texels along a side: the multichannel product has 2×2 elements in one."""
        return self.n // 2 if self.method == MULTI else self.n

    @property
    def textures(self) -> str:
        return "ABC" if self.way == BLEND else "ABCF"

    def fragment(self, number: int, place: Place) -> list[Touch]:
        """What a fragment of that pass touches."""
        x, y = place
        steps = range(number * self.b, (number + 1) * self.b)
        looked_up = [t for m in steps for t in (("A", False, m, y), ("B", False, x, m))]
        before, after = {COPY: "FC", BLEND: "CC", PING_PONG: "FC" if number % 2 == 0 else "CF"}[
            self.way
        ]
        return [*looked_up, (before, False, x, y), (after, True, x, y)]

    def accesses(self, order: list[Unit], in_flight: int) -> Iterator[tuple[Place, Touch]]:
        """All accesses, each with the fragment that makes it."""
        everywhere = [(x, y) for y in range(self.side) for x in range(self.side)]
        for number in range(self.side // self.b):
            for first in range(0, len(order), in_flight):
                batch = [place for unit in order[first : first + in_flight] for place in unit]
                touches = [self.fragment(number, place) for place in batch]
                for turn in range(2 * self.b + 2):
                    yield from ((p, t[turn]) for p, t in zip(batch, touches, strict=True))
            if self.way == COPY:
                for x, y in everywhere:
                    yield (x, y), ("C", False, x, y)
                    yield (x, y), ("F", True, x, y)

    def plan(self) -> Plan:
        options = (
            Options()
            if self.method == LM
            else Options(block=self.b, accumulate=Accumulate(self.way))
        )
        return find_method(self.method).plan(Shape(self.n, self.n, self.n), options)


def in_order(side: int, tile: int | None, *, quads: bool) -> list[Unit]:
    """Fragments or quads of a square, row by row, or in square tiles of that many fragments."""
    step = 2 if quads else 1
    corners = [(x, y) for y in range(0, side, step) for x in range(0, side, step)]
    if tile is not None:
        corners.sort(key=lambda place: (place[1] // tile, place[0] // tile))
    if not quads:
        return [[corner] for corner in corners]
    return [
        [(x + i, y + j) for j in (0, 1) for i in (0, 1) if x + i < side and y + j < side]
        for x, y in corners
    ]


def address(product: Product, block: int | None, touch: Touch) -> int:
    """In linear textures, or in square blocks of that many texels; each aligned to 4 KiB."""
    texture, _, x, y = touch
    side, texel_bytes = product.side, 16 if product.method == MULTI else 4
    block = 1 if block is None else block
    across = -(-side // block)
    of_texture = (across * block) ** 2 if block > 1 else side * side
    number = y * side + x
    if block > 1:
        number = (y // block * across + x // block) * block * block
        number += y % block * block + x % block
    base = product.textures.index(texture) * -(-of_texture * texel_bytes // 4096) * 4096
    return base + number * texel_bytes


# Caches ------------------------------------------------------------------------------------------


@dataclass
class Level:
    """A list of lines a set, the one to be evicted next last."""

    sets: int
    ways: int
    fifo: bool = False
    held: dict[int, list[int]] = field(default_factory=dict)

    def look(self, line: int, *, fill: bool) -> bool:
        """Whether the line is there; on a miss it may fill a way."""
        lines = self.held.setdefault(line % self.sets, [])
        hit = line in lines
        if hit and not self.fifo:
            lines.remove(line)
            lines.insert(0, line)
        if not hit and fill:
            lines.insert(0, line)
            del lines[self.ways :]
        return hit


CACHES = {
    "512,2way,64B": [(4, 2, False)],
    "1K,fully,64B": [(1, 16, False)],
    "4K,fully,64B": [(1, 64, False)],
    "256,direct,64B": [(4, 1, False)],
    "512,4way,64B,fifo": [(2, 4, True)],
    "768,3way,64B": [(4, 3, False)],
    "512,2way,64B + 2K,8way,64B": [(4, 2, False), (4, 8, False)],
    "512,2way,64B,fifo + 1K,4way,64B": [(4, 2, True), (4, 4, False)],
}
"""Sets, ways and whether it is FIFO, of each level; writes go through and fill nothing."""


def memory_of(caches: str) -> Memory:
    return Memory(tuple(map(parse_cache, caches.split(" + "))))


def simulated(
    product: Product, caches: str, block: int | None, order: list[Unit], in_flight: int
) -> Iterator[tuple[Place, Touch, list[bool]]]:
    """Each access, and whether it hit each level that it came to."""
    levels = [Level(*shape) for shape in CACHES[caches]]
    for place, touch in product.accesses(order, in_flight):
        line, writes = address(product, block, touch) // 64, touch[1]
        outcomes: list[bool] = []
        for level in levels:
            outcomes.append(level.look(line, fill=not writes))
            if outcomes[-1] and not writes:
                break
        yield place, touch, outcomes


def how(block: int | None, tile: int | None, *, quads: bool, in_flight: int) -> Access:
    layout = "linear" if block is None else f"{block}x{block}"
    raster = "scan" if tile is None else f"tiled:{tile}x{tile}"
    return parse_access(layout, raster, quads=quads, in_flight=in_flight)


# Runs --------------------------------------------------------------------------------------------


def check(
    product: Product, caches: str, block: int | None, tile: int | None, *,
    quads: bool, in_flight: int,
) -> None:  # fmt: skip
    order = in_order(product.side, tile, quads=quads)
    found: Counter[tuple[str, str, int]] = Counter()
    for _, (texture, writes, _, _), outcomes in simulated(product, caches, block, order, in_flight):
        for level, hit in enumerate(outcomes):
            found[texture, "writes" if writes else "reads", level] += 1
            found[texture, "write hits" if writes else "read hits", level] += hit
    access = how(block, tile, quads=quads, in_flight=in_flight)
    result = cache_run(product.plan(), memory_of(caches), access)
    last = len(CACHES[caches]) - 1
    for tally in result.regions:
        expected = tuple(
            found[tally.name, what, 0] for what in ("reads", "read hits", "writes", "write hits")
        )
        assert (tally.reads, tally.read_hits, tally.writes, tally.write_hits) == expected
        misses = found[tally.name, "reads", last] - found[tally.name, "read hits", last]
        assert tally.bytes_from_memory == 64 * misses
    for level, lookups in enumerate(result.levels):
        hits = sum(n for (_, what, at), n in found.items() if "hits" in what and at == level)
        both = sum(n for (_, what, at), n in found.items() if "hits" not in what and at == level)
        assert (lookups.hits, lookups.misses) == (hits, both - hits)


PRODUCTS = [
    Product(LM, 16),
    Product(SINGLE, 16, 4, COPY),
    Product(SINGLE, 16, 8, PING_PONG),
    Product(MULTI, 32, 4, BLEND),
    Product(MULTI, 32, 8, COPY),
]
NUMBERS = (1, 3, 16, 64)


@pytest.mark.parametrize(
    ("product", "caches", "in_flight"),
    [
        (product, caches, NUMBERS[(i + j) % len(NUMBERS)])
        for i, product in enumerate(PRODUCTS)
        for j, caches in enumerate(CACHES)
    ],
    ids=str,
)
def test_the_methods(product: Product, caches: str, in_flight: int) -> None:
    """Every pair of a product, a cache and a number in flight occurs."""
    check(product, caches, None, None, quads=False, in_flight=in_flight)
    check(product, caches, 4, 4, quads=True, in_flight=in_flight)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(LM, 1), (SINGLE, 1), (SINGLE, 2), (SINGLE, 4), (MULTI, 1), (MULTI, 2)]),
    st.integers(1, 4),
    st.sampled_from([COPY, PING_PONG, BLEND]),
    st.sampled_from(sorted(CACHES)),
    st.sampled_from([None, 2, 3, 8]),
    st.sampled_from([None, 2, 4, 6]),
    st.booleans(),
    st.integers(1, 80),
)
def test_any_order_layout_and_number(  # noqa: PLR0917
    method: tuple[str, int],
    quarter: int,
    way: str,
    caches: str,
    block: int | None,
    tile: int | None,
    quads: bool,
    in_flight: int,
) -> None:
    name, b = method
    n = 4 * quarter
    product = Product(name, n, b, BLEND if name == LM else way)
    check(product, caches, block, tile, quads=quads, in_flight=in_flight)


@pytest.mark.parametrize("quads", [False, True])
@pytest.mark.parametrize("in_flight", [3, 16])
def test_heat_maps_by_fragment(quads: bool, in_flight: int) -> None:
    product = Product(SINGLE, 9, 3, PING_PONG)
    order = in_order(9, None, quads=quads)
    reads, hits = np.zeros((9, 9), np.int64), np.zeros((9, 9), np.int64)
    for (x, y), touch, outcomes in simulated(product, "512,2way,64B", 2, order, in_flight):
        reads[y, x] += not touch[1]
        hits[y, x] += outcomes[0] and not touch[1]
    access = how(2, None, quads=quads, in_flight=in_flight)
    _, heat = heat_map(product.plan(), memory_of("512,2way,64B"), access)
    assert (heat.reads == reads).all()
    assert (heat.hits == hits).all()


@pytest.mark.parametrize("quads", [False, True])
@pytest.mark.parametrize("in_flight", [3, 16])
def test_curves(quads: bool, in_flight: int) -> None:
    product = Product(MULTI, 16, 2, COPY)
    order = in_order(8, 4, quads=quads)
    access = how(None, 4, quads=quads, in_flight=in_flight)
    found = stack_distances(trace_fragments(product.plan(), access))
    for lines in (1, 2, 3, 5, 8, 13, 40, 64):
        cache = Level(1, lines)
        touches = [touch for _, touch in product.accesses(order, in_flight)]
        hits = [cache.look(address(product, None, touch) // 64, fill=True) for touch in touches]
        assert found.misses(lines) == hits.count(False)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(LM, 1, BLEND), (SINGLE, 2, COPY), (SINGLE, 4, PING_PONG), (MULTI, 2, COPY)]),
    st.sampled_from([8, 12, 16, 24]),
    st.sampled_from([*CACHES, "512,4way,64B,plru"]),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([None, 2, 4]),
    st.integers(2, 100),
)
def test_iterations_that_repeat_are_iterations_simulated(  # noqa: PLR0917
    method: tuple[str, int, str],
    n: int,
    caches: str,
    memory: tuple[bool, bool],
    block: int | None,
    in_flight: int,
) -> None:
    name, b, way = method
    levels = memory_of(caches).levels
    plan = Product(name, n, b, way).plan()
    access = how(block, block, quads=False, in_flight=in_flight)
    result, every = (
        cache_run(plan, Memory(levels, *memory), access, every_pass=every) for every in (0, 1)
    )
    assert (result.regions, result.levels) == (every.regions, every.levels)


@pytest.mark.parametrize(
    ("tile", "in_flight", "single", "multi"),
    [
        (None, 1, 242, 60.9),
        (None, 256, 15.1, 7.6),
        (8, 1, 8.5, 3.7),
        (8, 16, 0.98, 1.45),
        (8, 64, 0.48, 0.67),
        (8, 256, 0.47, 0.56),
    ],
)
def test_shares_from_memory_against_another_simulator(
    tile: int | None, in_flight: int, single: float, multi: float
) -> None:
    """Bytes from memory for each byte looked up in A and B, over Larson & McAllister's.

    n = 256, b = 32. The expected numbers are those of a simulator written apart from this one,
    rounded; 0.67 is 0.6649 here and in this file's plain Python.
    """
    memory, access = memory_of("8K,4way,64B"), how(tile, tile, quads=False, in_flight=in_flight)

    def share(product: Product) -> float:
        tallies = operand_tallies(product.plan(), cache_run(product.plan(), memory, access))
        return sum(tally.bytes_from_memory for tally in tallies) / sum(
            tally.bytes_requested for tally in tallies
        )

    before = share(Product(LM, 256))
    for method, expected in ((SINGLE, single), (MULTI, multi)):
        ratio = share(Product(method, 256, 32, PING_PONG)) / before
        last_digit = 10.0 ** -len(str(expected).partition(".")[2])
        assert abs(ratio - expected) < 0.51 * last_digit


def test_hits_of_a_repeated_row_are_its_first_repetitions() -> None:
    """Through a single line: 0; then two rows in flight read 0, 0, 1, 1; then a third one 0, 1."""
    one = np.ones(1, np.int32)
    chunks = [
        Chunk(np.array([[0]]), np.zeros(1, np.int16), one),
        Chunk(np.array([[0, 1]]), np.zeros(2, np.int16), 3 * one, in_flight=2),
    ]
    pass_ = PassTrace("pass", 7, lambda: iter(chunks))
    trace = Trace("trace", (Region("a", 0, 128, 4),), (Step(1, lambda _: (pass_,)),), 64)
    found: list[list[list[int]]] = []
    result = simulate(
        trace, memory_of("64,direct,64B"), misses=lambda _, __, hits: found.append(hits.tolist())
    )
    assert found == [[[0]], [[1, 0]]]
    assert (result.accesses, result.hits) == (7, 3)


# How many ----------------------------------------------------------------------------------------


def test_more_than_a_pass_has_are_all_of_it() -> None:
    plan, memory = Product(SINGLE, 12, 4, COPY).plan(), memory_of("512,2way,64B")
    everything = [
        cache_run(plan, memory, how(None, None, quads=False, in_flight=n)) for n in (144, 65536)
    ]
    assert everything[0] == everything[1]


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (Access(), "scan, linear"),
        (Access(quads=True, in_flight=16), "scan in quads, linear, 16 in flight"),
    ],
)
def test_an_access_in_words(access: Access, words: str) -> None:
    assert str(access) == words


@pytest.mark.parametrize(
    ("in_flight", "complaint"),
    [
        (0, "in_flight is 0; it must be at least 1"),
        (-3, "in_flight is -3; it must be at least 1"),
        (65537, "in_flight is 65537; it must be at most 65536"),
        (10**50, "in_flight is an int; it must be at most 65536"),
        (2.0, "in_flight is 2.0; it must be an integer"),
        ("16", "in_flight is '16'; it must be an integer"),
        (True, "in_flight is True; it must be an integer"),
    ],
)
def test_a_number_that_cannot_be_in_flight(in_flight: Any, complaint: str) -> None:
    with pytest.raises(InputError) as raised:
        Access(in_flight=in_flight)
    assert str(raised.value) == complaint
