"""Fragments in flight: iterations that repeat, heat maps, and another simulator's numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import Access, parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run, heat_map, operand_tallies
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Plan

LM, SINGLE, MULTI = "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"
COPY, PING_PONG, BLEND = Accumulate.COPY, Accumulate.PING_PONG, Accumulate.BLEND
CACHES = ("512,2way,64B", "1K,fully,64B", "512,4way,64B,fifo", "512,2way,64B + 2K,8way,64B",
          "512,4way,64B,plru")  # fmt: skip


def plan_of(method: str, n: int, block: int = 1, way: Accumulate = BLEND) -> Plan:
    blocked = {} if method == LM else {"block": block, "accumulate": way}
    return find_product(method).plan(n=n, **blocked)


def how(tile: int | None, in_flight: int, *, quads: bool = False) -> Access:
    """Row by row, or in square tiles and blocks of that many fragments and texels."""
    if tile is None:
        return parse_access("linear", "scan", quads=quads, in_flight=in_flight)
    square = f"{tile}x{tile}"
    return parse_access(square, f"tiled:{square}", quads=quads, in_flight=in_flight)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([(LM, 1, BLEND), (SINGLE, 2, COPY), (SINGLE, 4, PING_PONG), (MULTI, 2, COPY)]),
    st.sampled_from([8, 12, 16]),
    st.sampled_from(CACHES),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([None, 2, 4]),
    st.integers(2, 100),
)
def test_iterations_that_repeat_are_iterations_simulated(  # noqa: PLR0917
    method: tuple[str, int, Accumulate],
    n: int,
    caches: str,
    memory: tuple[bool, bool],
    block: int | None,
    in_flight: int,
) -> None:
    name, b, way = method
    levels = tuple(map(parse_cache, caches.split(" + ")))
    plan, access = plan_of(name, n, b, way), how(block, in_flight)
    result, every = (
        cache_run(plan, Memory(levels, *memory), access, every_pass=every) for every in (0, 1)
    )
    assert (result.regions, result.levels) == (every.regions, every.levels)


@pytest.mark.parametrize("quads", [False, True])
@pytest.mark.parametrize("in_flight", [3, 16])
def test_a_heat_map_has_the_reads_of_each_fragment(quads: bool, in_flight: int) -> None:
    """In each of 3 passes 3 texels of A, 3 of B and the sum so far."""
    plan, memory = plan_of(SINGLE, 9, 3, PING_PONG), Memory((parse_cache(CACHES[0]),))
    access = how(2, in_flight, quads=quads)
    _, heat = heat_map(plan, memory, access)
    assert (heat.reads == 3 * (3 + 3 + 1)).all()
    tallies = cache_run(plan, memory, access).regions
    assert heat.hits.sum() == sum(tally.read_hits for tally in tallies)


@pytest.mark.parametrize(
    ("tile", "in_flight", "single", "multi"),
    [
        (None, 1, 242, 60.9),
        (None, 256, 15.1, 7.6),
        (8, 1, 8.5, 3.7),
        (8, 64, 0.48, 0.67),
    ],
)
def test_shares_from_memory_against_another_simulator(
    tile: int | None, in_flight: int, single: float, multi: float
) -> None:
    """Bytes from memory for each byte looked up in A and B, over Larson & McAllister's.

    n = 256, b = 32. The expected numbers are those of a simulator written apart from this one,
    rounded; 0.67 is 0.6649 here.
    """
    memory, access = Memory((parse_cache("8K,4way,64B"),)), how(tile, in_flight)

    def share(plan: Plan) -> float:
        tallies = operand_tallies(plan, cache_run(plan, memory, access))
        return sum(tally.bytes_from_memory for tally in tallies) / sum(
            tally.bytes_requested for tally in tallies
        )

    before = share(plan_of(LM, 256))
    for method, expected in ((SINGLE, single), (MULTI, multi)):
        ratio = share(plan_of(method, 256, 32, PING_PONG)) / before
        last_digit = 10.0 ** -len(str(expected).partition(".")[2])
        assert abs(ratio - expected) < 0.51 * last_digit


def test_an_access_in_words_and_what_is_none() -> None:
    assert str(Access()) == "scan, linear"
    assert str(Access(quads=True, in_flight=16)) == "scan in quads, linear, 16 in flight"
    for number, words in ((0, "must be at least 1"), (65537, "must be at most 65536")):
        with pytest.raises(InputError, match=f"in_flight is {number}; it {words}"):
            Access(in_flight=number)
